"""The hint for a second release of known people: whether it can be judged together with the earlier ones."""

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from tableveil.backend import WarehouseSession, column
from tableveil.policy import LeftBehind, Policy
from tableveil.policy.validate_together import FIELD, check_together
from tableveil.source import Source
from tableveil.state import persons


def repeat_hint(
    session: WarehouseSession, policy: Policy, source: Source, asked: Collection[int], *, rows: bool
) -> str:
    """The hint for a policy that gives no reason, although the people of the releases `asked` are in the source.

    Only with `rows` may those of the source be read.
    """
    hopeless = _hopeless(session, policy, source, asked, rows=rows)
    if hopeless:
        text = f"They cannot be judged together, since {hopeless}. State the reason, or release something else."
    elif unfit := _unfit(policy):
        text = f"To judge them together by left_behind, change first that the policy has {unfit}. Or state the reason."
    elif policy.release.left_behind is not None:
        text = "Add them to release.together_with, or state the reason why they are left out."
    else:
        text = (
            "To judge them together, write left_behind: REPORT below release, which counts the people who are told "
            "apart, or REQUIRE, which suppresses more so that nobody is. Or state the reason why that is not needed."
        )
    return f"Two releases of the same people can together tell apart what each alone hides. {text}"


def _unfit(policy: Policy) -> str:
    """The first part of the policy with which `left_behind` would be refused; an empty text if there is none."""
    asking = replace(policy, release=replace(policy.release, left_behind=LeftBehind.REPORT, together_with=()))
    for fault in check_together(asking):
        return fault.found.removeprefix(f"{LeftBehind.REPORT} with ").removesuffix(f" with {FIELD}")
    return ""


def _hopeless(session: WarehouseSession, policy: Policy, source: Source, asked: Collection[int], *, rows: bool) -> str:
    """The first reason why no policy could judge them together; an empty text if none is known."""
    if not asked:
        return "nobody knows which they were"
    person, record = policy.person_column, policy.record_column
    without = {*asked} - persons.with_classes(session.ledger, asked)
    if without:
        kept = "record" if record else "person"
        named = ", ".join(f"releases/{number}" for number in sorted(without)[:3])
        page = "docs/explanations/together.md"
        return f"the ledger has no class of each {kept} in {named} ({page} says which releases have them)"
    of_records = persons.of_records(session.ledger, asked)
    if bool(record) != (of_records == {*asked}) or (of_records and not record):
        return "some of these releases name a record_column, and others do not"
    if rows and not record and person is not None:
        different = exp.Count(this=exp.Distinct(expressions=[column(person)]))
        people, records = session.row(exp.select(different, exp.Count(this=exp.Star())).from_(source.table()))
        if people < records:
            return "people have several records in the source, and one there"
    return ""
