"""Refuses columns that give away what labels hide, and says of the others who else could be found by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tableveil.backend import WarehouseSession
from tableveil.disclosure.exposure import Determined, ExposureFindings, Following, exposed
from tableveil.errors import Fault, InvalidError, Rank, Warned, must_decide, note, shortened
from tableveil.policy import AttributePolicy, ReleaseContext, Role
from tableveil.privacy.accepted import accepted_by
from tableveil.privacy.exposure.found import Exposure
from tableveil.release.plan import ReleasePlan

AS_A_WHOLE = 0.5
"""A column follows as a whole, or is nearly a name, if it leaves this share of the people among few, or alone."""

SOME = 0.05
"""From this share of the people on, it should be looked at that a column finds them."""

HIDING = "columns that do not give away what the labels hide"


@dataclass(frozen=True, slots=True)
class Measured:
    """The findings on released columns for the owner: exposures, and warnings."""

    exposures: tuple[Exposure, ...]
    warnings: tuple[str, ...]


def check_exposure(session: WarehouseSession, plan: ReleasePlan) -> Measured:
    """Raises `InvalidError` for columns that are not acknowledged, and give away what labels hide.

    They determine a quasi-identifier more finely than its labels; or they follow from quasi-identifiers, sensitive ones
    as a whole. Call it after the plan is staged. Without a k, the second only warns. If a warehouse has too many
    different rows, they are not measured, and no insensitive column is released then unless it is acknowledged.
    """
    found = exposed(session, plan)
    if found is None:
        return _unmeasured(plan)
    faults, warnings = list[Fault](), list[Warned]()
    for one in found.determined:
        if one.attribute.acknowledged:
            warnings.append(_determines_anyway(one))
        else:
            faults.append(_determines(plan, one))
    told = {one.attribute.column for one in found.determined}
    for each in found.follows:
        if not told.isdisjoint(attribute.column for attribute in each.columns):
            continue
        refused = [attribute for attribute in each.columns if plan.policy.k and _refusable(attribute, each)]
        if refused:
            faults.append(_refused(plan, refused[0], each, found.least))
        else:
            warnings.append(_rules_out(plan, each, found.least))
    if faults:
        raise InvalidError.about("COLUMN_DISCLOSES", "columns released as they are give away what labels hide", faults)
    follows = (
        Exposure(tuple(a.column for a in one.columns), one.knows, 0, one.few, one.total, found.least, plan.repeating)
        for one in found.follows
    )
    return Measured((*found.counts, *follows), (*warnings, *_found(plan, found)))


def _refusable(attribute: AttributePolicy, follows: Following) -> bool:
    """Whether a column is refused for what follows: sensitive ones are expected to depend on people, to a degree."""
    whole = follows.few >= AS_A_WHOLE * follows.total
    return not attribute.acknowledged and (attribute.role is Role.INSENSITIVE or whole)


def _determines(plan: ReleasePlan, one: Determined) -> Fault:
    return Fault(
        _field(plan, one.attribute),
        f"{one.attribute.role} for {_told(one)}",
        HIDING,
        f"Make it IDENTIFYING, or a QUASI_IDENTIFIER with the levels of {shortened(one.released.name)}, or list it "
        "with acknowledged: true to release it.",
    )


def _determines_anyway(one: Determined) -> Warned:
    return must_decide(
        f"A reader who sees a row's {shortened(one.attribute.column)} knows more of {shortened(one.released.name)} "
        f"than the label tells: acknowledged: true releases {_told(one)}.",
        field=one.attribute.column,
    )


def _told(one: Determined) -> str:
    return (
        f"{shortened(one.attribute.column)}, which determines {shortened(one.released.name)} more finely than its "
        f"{one.released.cells}: {one.agree.share:.0%} of the records with "
        f"{'neighbouring' if one.agree.neighbouring else 'equal'} values agree in it"
    )


def _refused(plan: ReleasePlan, attribute: AttributePolicy, one: Following, least: int) -> Fault:
    whole = one.few >= AS_A_WHOLE * one.total
    hint = (
        f"Make it IDENTIFYING, or a QUASI_IDENTIFIER with the levels of {_names(one.knows)}"
        if whole
        else "Give it the role QUASI_IDENTIFIER, or leave these people out"
    )
    together = f" beside {_names(others)}" if (others := [a.column for a in one.columns if a is not attribute]) else ""
    return Fault(
        _field(plan, attribute),
        f"{attribute.role} for {shortened(attribute.column)}{together}, which follows from {_names(one.knows)}: who "
        f"knows {_them(one)} has {_few(plan, one)} among fewer than {least}",
        HIDING,
        f"{hint}, or list it with acknowledged: true to release it.",
    )


def _rules_out(plan: ReleasePlan, one: Following, least: int) -> Warned:
    """The warning of people among few; under a policy without a threshold of risk, nobody asked that they are not."""
    columns = _names([attribute.column for attribute in one.columns])
    rule = "rules" if len(one.knows) == 1 else "rule"
    text = (
        f"A person's exact {_names(one.knows)} {rule} out values of {columns}: who knows {_them(one)} has "
        f"{_few(plan, one)} among fewer than {least}."
    )
    _, words = accepted_by(plan.policy)
    if not words:
        return Warned(text, count_of=one.few, field=one.columns[0].column)
    return must_decide(
        f"{text} Coarser values of {columns} end it, or leaving out these {one.few:,} ({one.few / one.total:.1%}).",
        one.few,
        one.columns[0].column,
    )


def _few(plan: ReleasePlan, one: Following) -> str:
    return f"{one.few:,} of {one.total:,} {'people' if plan.repeating else 'rows'}"


def _them(one: Following) -> str:
    return "it" if len(one.knows) == 1 else "them"


def _names(names: Sequence[str]) -> str:
    shown = [shortened(name) for name in names]
    return " and ".join((", ".join(shown[:-1]), shown[-1])) if len(shown) > 1 else shown[0]


def _field(plan: ReleasePlan, attribute: AttributePolicy) -> str:
    return plan.policy.role_field(plan.policy.attributes.index(attribute))


def _found(plan: ReleasePlan, exposure: ExposureFindings) -> Iterator[Warned]:
    """Whom readers find who know values: where people repeat, people are counted."""
    public = plan.policy.documentation.context is ReleaseContext.PUBLIC
    counts = [one for one in exposure.counts if one.counts_people == plan.repeating and one.found]
    unit = "people" if plan.repeating else "rows"
    for one in counts:
        told = f"finds {one.found:,} of {one.total:,} {unit} by their labels"
        if len(one.columns) == 1:
            name = shortened(one.columns[0])
            if one.found >= AS_A_WHOLE * one.total:
                text = (
                    f"A value of {name} is nearly a name: somebody who knows a person's {told}. Round it, or make "
                    "sure that no reader can look it up."
                )
                rank = Rank.MUST_BE_DECIDED if public else Rank.SHOULD_BE_LOOKED_AT
            else:
                text = f"Somebody who knows a person's {name} {told}."
                rank = Rank.SHOULD_BE_LOOKED_AT if one.found >= SOME * one.total else Rank.NOTE
            yield Warned(text, rank, one.found, one.columns[0])
        elif one.columns:
            yield note(f"Somebody who knows all released values of a person {told}.", one.found)


def _unmeasured(plan: ReleasePlan) -> Measured:
    """The finding on columns of a warehouse with too many different rows."""
    many = "too many different combinations of labels and values to collect"
    faults = [
        Fault(
            plan.policy.role_field(i),
            f"INSENSITIVE for {shortened(attribute.column)}, of which nobody knows what it tells: there are {many}",
            HIDING,
            "List it with acknowledged: true, make it IDENTIFYING, or give the server more memory.",
        )
        for i, attribute in enumerate(plan.policy.attributes)
        if attribute.role is Role.INSENSITIVE and not attribute.acknowledged
    ]
    if faults:
        raise InvalidError.about("COLLECTS_TOO_MUCH", "columns released as they are cannot be looked at", faults)
    return Measured((), (note(f"Nobody counted who else could be found by released columns: there are {many}."),))
