"""The way out for a second release of known people: whether it can be judged together with the earlier ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from tableveil.backend import WarehouseSession, column
from tableveil.policy import LeftBehind, Policy
from tableveil.policy.validate_together import FIELD, check_together
from tableveil.source import Source
from tableveil.state import persons, releases

_TOLD = "Two releases of the same people can together tell apart what each alone hides. "


def way_out(session: WarehouseSession, policy: Policy, source: Source, asked: Collection[int], *, rows: bool) -> str:
    """The hint for a policy that gives no reason, although the people of the releases `asked` are in the source.

    Only with `rows` may those of the source be read.
    """
    why = _refused(session, policy, source, asked, rows=rows)
    if why:
        return f"{_TOLD}They cannot be judged together, since {why}. State the reason, or release something else."
    if policy.release.left_behind is not None:
        return f"{_TOLD}Add them to release.together_with, or state the reason why they are left out."
    return (
        f"{_TOLD}To judge them together, write left_behind: REPORT below release, which counts the people who are told "
        "apart, or REQUIRE, which suppresses more so that nobody is. Or state the reason why that is not needed."
    )


def _refused(session: WarehouseSession, policy: Policy, source: Source, asked: Collection[int], *, rows: bool) -> str:
    """The first reason why `left_behind` would be refused; an empty text if none is known."""
    asking = replace(policy, release=replace(policy.release, left_behind=LeftBehind.REPORT, together_with=()))
    for fault in check_together(asking):
        found = fault.found.removeprefix(f"{LeftBehind.REPORT} with ").removesuffix(f" with {FIELD}")
        return f"the policy has {found}"
    if not asked:
        return "nobody knows which they were"
    person, record = policy.person_column, policy.record_column
    seen = releases.seen_among(session.ledger, asked)
    without = {*asked} - persons.with_classes(session.ledger, asked)
    if without:
        kept = "record" if record else "person"
        named = ", ".join(f"releases/{number}" for number in sorted(without & seen)[:3]) or "a release"
        return f"the ledger has no class of each {kept} in {named} (docs/together.md says which releases have them)"
    of_records = persons.of_records(session.ledger, asked)
    if bool(record) != (of_records == {*asked}) or (of_records and not record):
        return "some of these releases name a record_column, and others do not"
    if rows and not record and person is not None:
        different = exp.Count(this=exp.Distinct(expressions=[column(person)]))
        people, records = session.row(exp.select(different, exp.Count(this=exp.Star())).from_(source.table()))
        if people < records:
            return "people have several records in the source, and one there"
    return ""
