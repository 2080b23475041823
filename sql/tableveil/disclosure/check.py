"""Refuses columns that give away what labels hide, and says of the others who else could be found by them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tableveil.backend import WarehouseSession
from tableveil.disclosure.exposure import Determined, ExposureFindings, exposed
from tableveil.errors import Fault, InvalidError, Rank, Warned, listed, must_decide, note, shortened, sole
from tableveil.policy import AttributePolicy, KAnonymity, ReleaseContext, Role
from tableveil.privacy.accepted import accepted_by
from tableveil.privacy.exposure.found import Exposure
from tableveil.release.plan import ReleasePlan

AS_A_WHOLE = 0.5
"""A column follows as a whole, or is nearly a name, if it leaves this share of the people among few, or alone."""

SOME = 0.05
"""From this share of the people on, it should be looked at that a column finds them."""

FEWEST_CLASSES = 4
"""Where fewer classes of k can be, k is too large to say anything of columns."""

MOST_NAMED = 3
"""A warning names so many columns; the table of exposures has all."""

HIDING = "columns that do not give away what the labels hide"


@dataclass(frozen=True, slots=True)
class Measured:
    """The findings on released columns for the owner: exposures, and warnings."""

    exposures: tuple[Exposure, ...]
    warnings: tuple[Warned, ...]

    @property
    def nearly_names(self) -> frozenset[str]:
        """The columns with a value that finds most rows by itself."""
        counts = (one for one in self.exposures if len(one.columns) == 1 and not one.knows)
        return frozenset(one.columns[0] for one in counts if one.found and one.found >= AS_A_WHOLE * one.total)


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
            faults.append(_discloses(plan, one.attribute, _told(one), shortened(one.released.name)))
    told = {one.attribute.column for one in found.determined}
    for each in found.follows:
        if not told.isdisjoint(each.columns):
            continue
        refused = [attribute for attribute in plan.policy.attributes if plan.policy.k and _refusable(attribute, each)]
        if refused:
            faults.append(_refused(plan, refused[0], each))
        else:
            warnings.append(_rules_out(plan, each))
    if faults:
        faults = [*_of_k(plan, found), *faults]
        raise InvalidError.about("COLUMN_DISCLOSES", "columns released as they are give away what labels hide", faults)
    return Measured((*found.counts, *found.follows), (*warnings, *_found(plan, found)))


def _refusable(attribute: AttributePolicy, one: Exposure) -> bool:
    """Whether a column is refused for what follows: sensitive ones are expected to depend on people, to a degree."""
    if attribute.column not in one.columns or attribute.acknowledged:
        return False
    return attribute.role is Role.INSENSITIVE or one.few >= AS_A_WHOLE * one.total


def _of_k(plan: ReleasePlan, found: ExposureFindings) -> Iterator[Fault]:
    """The fault of a k by which nearly everybody is among few, whatever the columns are: perhaps it is mistyped."""
    total = max((one.total for one in found.follows), default=0)
    for i, model in enumerate(plan.policy.privacy_models):
        if isinstance(model, KAnonymity) and FEWEST_CLASSES * model.k > total > 0:
            most = "a single class" if total < 2 * model.k else f"at most {total // model.k:,} classes"
            yield Fault(
                f"privacy_models[{i}].k_anonymity.k",
                f"{model.k:,}, of which {total:,} {'people' if plan.repeating else 'rows'} make {most}",
                "a k that is small beside what is in the table",
                "Check k first: beside so large a one, most people are among few by nearly any column.",
            )


def _discloses(plan: ReleasePlan, attribute: AttributePolicy, told: str, levels: str) -> Fault:
    """The fault of a column of which so much is told; it could have the `levels` of others, if these are named."""
    hint = f"{plan.policy.identifying_hint(attribute.column)}, or a QUASI_IDENTIFIER with the levels of {levels}"
    return Fault(
        plan.policy.role_field(plan.policy.attributes.index(attribute)),
        f"{attribute.role} for {shortened(attribute.column)}{told}",
        HIDING,
        f"{hint if levels else 'Give it the role QUASI_IDENTIFIER, or leave these people out'}, or list it with "
        "acknowledged: true to release it.",
    )


def _determines_anyway(one: Determined) -> Warned:
    return must_decide(
        f"A reader who sees a row's {shortened(one.attribute.column)} knows more of {shortened(one.released.name)} "
        f"than the label tells: acknowledged: true releases {shortened(one.attribute.column)}{_told(one)}.",
        field=one.attribute.column,
    )


def _told(one: Determined) -> str:
    return (
        f", which determines {shortened(one.released.name)} more finely than its {one.released.cells}: "
        f"{one.agree.share:.0%} of the records with {'neighbouring' if one.agree.neighbouring else 'equal'} values "
        "agree in it"
    )


def _refused(plan: ReleasePlan, attribute: AttributePolicy, one: Exposure) -> Fault:
    others = [name for name in one.columns if name != attribute.column]
    together, knows = f" beside {_names(others)}" if others else "", _names(one.knows)
    levels = knows if one.few >= AS_A_WHOLE * one.total else ""
    return _discloses(plan, attribute, f"{together}, which follows from {knows}: {_few(one)}", levels)


def _rules_out(plan: ReleasePlan, one: Exposure) -> Warned:
    """The warning of people among few; under a policy without a threshold of risk, nobody asked that they are not."""
    columns, rule = _names(one.columns), "rules" if len(one.knows) == 1 else "rule"
    text = f"A person's exact {_names(one.knows)} {rule} out values of {columns}: {_few(one)}."
    _, words = accepted_by(plan.policy)
    if not words:
        return Warned(text, count_of=one.few, field=one.columns[0])
    return must_decide(
        f"{text} Coarser values of {columns} end it, or leaving out these {one.few:,} ({one.few / one.total:.1%}).",
        one.few,
        one.columns[0],
    )


def _few(one: Exposure) -> str:
    them, unit = "it" if len(one.knows) == 1 else "them", "people" if one.counts_people else "rows"
    return f"who knows {them} has {one.few:,} of {one.total:,} {unit} among fewer than {one.least}"


def _names(names: Iterable[str], most: int | None = None) -> str:
    return listed([shortened(name) for name in names], most)


def _found(plan: ReleasePlan, exposure: ExposureFindings) -> Iterator[Warned]:
    """One warning of whom readers find who know values, by the column that finds most; the table has the others.

    Where people repeat, people are counted.
    """
    counts = [one for one in exposure.counts if one.counts_people == plan.repeating and one.found]
    singly = sorted((one for one in counts if len(one.columns) == 1), key=lambda one: -one.found)
    unit = "people" if plan.repeating else "rows"
    names = [one for one in singly if one.found >= AS_A_WHOLE * one.total]
    some = [one for one in singly if one.found >= SOME * one.total]
    if names:
        text = (
            f"{'A value' if len(names) == 1 else 'Values'} of {_names((one.columns[0] for one in names), MOST_NAMED)} "
            f"{'is nearly a name' if len(names) == 1 else 'are nearly names'}: somebody who knows a "
            f"person's finds {'' if len(names) == 1 else 'up to '}{names[0].found:,} of {names[0].total:,} {unit} by "
            f"their labels"
            f"{_also(some[len(names) :])}. Round {'it' if len(names) == 1 else 'them'}, or make sure that no reader "
            f"can look {'it' if len(names) == 1 else 'them'} up."
        )
        public = plan.policy.documentation.context is ReleaseContext.PUBLIC
        rank = Rank.MUST_BE_DECIDED if public else Rank.SHOULD_BE_LOOKED_AT
        yield Warned(text, rank, names[0].found, names[0].columns[0])
    elif some or (counts and counts[-1].columns):
        most = some[0] if some else counts[-1]
        knows = shortened(most.columns[0]) if len(most.columns) == 1 else "released values"
        yield Warned(
            f"Somebody who knows a person's {knows} finds {most.found:,} of {most.total:,} {unit} by their labels"
            f"{_also(some[1:])}.",
            Rank.SHOULD_BE_LOOKED_AT if some else Rank.NOTE,
            most.found,
            sole(most.columns),
        )


def _also(others: Sequence[Exposure]) -> str:
    told = [f"{shortened(one.columns[0])} finds {one.found:,}" for one in others[:MOST_NAMED]]
    return "".join(f"; {one}" for one in told)


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
