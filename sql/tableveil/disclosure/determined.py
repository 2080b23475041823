"""Whether columns that are released unchanged reveal values that a quasi-identifier's label hides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column, row_hash, table
from tableveil.dictionary.elements import in_each_cell
from tableveil.disclosure.exposure import Determined, EffectiveK, effective_ks
from tableveil.errors import Fault, InvalidError, Warned, must_decide, note, shortened
from tableveil.policy import AttributePolicy, Role
from tableveil.privacy.guarantees import Guarantee
from tableveil.release.plan import ReleasePlan
from tableveil.release.write import spread_table
from tableveil.source.spelling import has_spellings, spelling

EFFECTIVE_K = "effective_k"
"""Its name in the evidence."""

_ENDS = {"min": exp.Min, "max": exp.Max}
"""Values are all alike if both ends are equal."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The findings on released columns for the owner: the effective k of each, and warnings."""

    guarantees: tuple[Guarantee, ...]
    warnings: tuple[str, ...]


def check_exposure(session: WarehouseSession, plan: ReleasePlan) -> Measured:
    """Raises `InvalidError` for columns that are not acknowledged, and give away what labels hide.

    They determine a quasi-identifier more finely than its labels; or, insensitive ones, leave fewer rows than the
    policy's k. Call it after the plan is staged. Without a k, and for sensitive columns, the second only warns. If a
    warehouse has too many different rows, they are not measured, and no insensitive column is released then unless it
    is acknowledged.
    """
    measured = effective_ks(session, plan, [released.hides for released in plan.quasi_identifiers()])
    if measured is None:
        return _unmeasured(plan)
    singly, together = measured.singly, measured.together
    faults, warnings = list[Fault](), list[Warned]()
    for one in measured.determined:
        if one.attribute.acknowledged:
            warnings.append(_determines_anyway(one))
        else:
            faults.append(_determines(plan, one))
    k = plan.policy.k
    # Without a k, a column must not lower the least class size.
    least = k or measured.people or int(min(plan.classes.counts[plan.kept], default=0))
    told = {one.attribute.column for one in measured.determined}
    low = [
        measurement
        for measurement in singly
        if measurement.least < least
        and not measurement.columns[0].acknowledged
        and measurement.columns[0].column not in told
    ]
    for measurement in low:
        (attribute,) = measurement.columns
        leaves = f"leaves {_left(plan, measurement.least)} by {measurement.shown_by}"
        if k is not None and attribute.role is Role.INSENSITIVE:
            text = f"INSENSITIVE for {shortened(attribute.column)}, whose effective k is below {k}: it {leaves}"
            faults.append(_refused(plan, attribute, text))
        else:
            warnings.append(_lowers(plan, measurement, least))
    if (
        together is not None
        and together.least < least
        and not any(set(f.columns) <= set(together.columns) for f in low)
        and not any(one in together.columns for one in (each.attribute for each in measured.determined))
    ):
        names = ", ".join(shortened(attribute.column) for attribute in together.columns)
        leaves = f"together leave {_left(plan, together.least)} by {together.shown_by}"
        if k is not None:
            text = f"INSENSITIVE for {names}, whose effective k is below {k}: they {leaves}"
            faults.append(_refused(plan, together.columns[0], text))
        else:
            warnings.append(Warned(f"{names} have an effective k below {least}: they {leaves}."))
    if faults:
        raise InvalidError.about("COLUMN_DISCLOSES", "columns released as they are give away what labels hide", faults)
    guarantees = [
        Guarantee(EFFECTIVE_K, measurement.columns[0].column, "k", None, measurement.least) for measurement in singly
    ]
    if together is not None:
        guarantees.append(Guarantee(f"{EFFECTIVE_K} (insensitive columns together)", "", "k", None, together.least))
    return Measured(tuple(guarantees), tuple(warnings))


def _unmeasured(plan: ReleasePlan) -> Measured:
    """The finding on columns of a warehouse with too many different rows."""
    many = "too many different combinations of labels and values to collect"
    faults = [
        Fault(
            plan.policy.role_field(i),
            f"INSENSITIVE for {shortened(attribute.column)}, whose effective k is unknown: {many}",
            "columns that leave everybody as many rows of their class as the policy's k",
            "List it with acknowledged: true, make it IDENTIFYING, or give the server more memory.",
        )
        for i, attribute in enumerate(plan.policy.attributes)
        if attribute.role is Role.INSENSITIVE and not attribute.acknowledged
    ]
    if faults:
        raise InvalidError.about("COLLECTS_TOO_MUCH", "columns released as they are cannot be looked at", faults)
    return Measured((), (note(f"The effective k of released columns is not measured: there are {many}."),))


def _determines(plan: ReleasePlan, one: Determined) -> Fault:
    return Fault(
        plan.policy.role_field(plan.policy.attributes.index(one.attribute)),
        f"{one.attribute.role} for {_told(one)}",
        "columns that do not give away what the labels hide",
        f"Make it IDENTIFYING, or a QUASI_IDENTIFIER with the levels of {shortened(one.released.name)}, or list it "
        "with acknowledged: true to release it.",
    )


def _determines_anyway(one: Determined) -> Warned:
    return must_decide(
        f"A reader who sees a row's {shortened(one.attribute.column)} knows more of {shortened(one.released.name)} "
        f"than the label tells: acknowledged: true releases {_told(one)}."
    )


def _told(one: Determined) -> str:
    return (
        f"{shortened(one.attribute.column)}, which determines {shortened(one.released.name)} more finely than its "
        f"{one.released.cells}: {one.agree.share:.0%} of the records with "
        f"{'neighbouring' if one.agree.neighbouring else 'equal'} values agree in it"
    )


def _lowers(plan: ReleasePlan, effective_k: EffectiveK, least: int) -> Warned:
    """The warning that a column leaves fewer than `least`; a note if a model bounds what its values tell."""
    (attribute,) = effective_k.columns
    name, by = shortened(attribute.column), effective_k.shown_by
    role = f"{plan.policy.role_field(plan.policy.attributes.index(attribute))}: {Role.QUASI_IDENTIFIER}"
    told = (
        f"A reader who knows a person's exact {by} can leave out the rows of the class whose {name} does not fit it. "
        f"Then {_left(plan, effective_k.least)} can be left, fewer than {least}: an effective k."
    )
    if attribute.role is Role.SENSITIVE and attribute not in plan.policy.unprotected:
        return note(f"{told} Models of {name} do not count this.")
    return Warned(f"{told} {role} prevents it.")


def _left(plan: ReleasePlan, number: int) -> str:
    if plan.repeating:
        return f"rows of {number} {'person' if number == 1 else 'people'}"
    return f"{number} row{'s' * (number != 1)}"


def _refused(plan: ReleasePlan, attribute: AttributePolicy, found: str) -> Fault:
    return Fault(
        plan.policy.role_field(plan.policy.attributes.index(attribute)),
        found,
        f"columns that leave everybody {'rows of as many people' if plan.repeating else 'as many rows'} of their class "
        "as the policy's k",
        "Make it a QUASI_IDENTIFIER, or list it with acknowledged: true to release it.",
    )


def single_valued(session: WarehouseSession, plan: ReleasePlan, rows: exp.Table) -> Iterator[Warned]:
    """Warnings about sensitive columns that no model names: how many released classes have a single value.

    It reads the tables of `spread_table` for rows that have to be collected.
    """
    for attribute in plan.policy.unprotected:
        if attribute.listed_elements is not None:
            yield from _in_common(session, plan, attribute, rows)
            continue
        if session.traits.collects:
            sensitive = [released.name for released in plan.diverse()].index(attribute.column)
            name, kept = "value", exp.select().from_(table(spread_table(sensitive)))
            labels = [column(f"v{i}") for i, _ in enumerate(plan.quasi_identifiers())]
        else:
            name, kept = attribute.column, exp.select().from_(rows.copy())
            labels = [column(released.name) for released in plan.quasi_identifiers()]
            if plan.marker:
                kept = kept.where(exp.Not(this=column(plan.marker)))
        value: exp.Expr = column(name)
        of = plan.source.column(attribute.column)
        if has_spellings(session.embedded, kept.select(alias(value, "value")), of):
            value = spelling(value, of)
        ends = [alias(end(this=row_hash(value.copy())), name) for name, end in _ENDS.items()]
        # Rows that were collected are counted by value.
        rows_of = exp.Sum(this=column("n")) if session.traits.collects else exp.Count(this=exp.Star())
        ends.append(alias(rows_of, "n"))
        by_class = kept.select(*ends).group_by(*labels)
        alike = exp.EQ(this=column("min"), expression=column("max"))
        of_single = exp.Filter(this=exp.Sum(this=column("n")), expression=exp.Where(this=alike.copy()))
        counts = (exp.CountIf(this=alike), exp.Count(this=exp.Star()), of_single)
        single, classes, records = session.embedded.row(exp.select(*counts).from_(by_class.subquery("classes")))
        if classes:
            yield _single_valued(plan, attribute, single, classes, int(records or 0))


def _in_common(
    session: WarehouseSession, plan: ReleasePlan, attribute: AttributePolicy, rows: exp.Table
) -> Iterator[Warned]:
    """The warning about lists that no model names: in how many released classes all of them share an element."""
    elements, of = attribute.listed_elements, plan.source.column(attribute.column)
    assert elements is not None, "the cells are lists"
    names = [f"v{i}" for i, _ in enumerate(plan.quasi_identifiers())]
    keys = [column(name) for name in names]
    named = [alias(column(label.name), name) for label, name in zip(plan.quasi_identifiers(), names, strict=True)]
    kept = exp.select(*named, alias(column(attribute.column), "cell")).from_(rows.copy())
    if plan.marker:
        kept = kept.where(exp.Not(this=column(plan.marker)))
    rows_of = exp.Count(this=exp.Star())
    size = exp.Window(this=exp.Sum(this=rows_of.copy()), partition_by=keys)
    cells = exp.select(*keys, column("cell"), alias(rows_of, "n"), alias(size, "size")).from_(kept.subquery("kept"))
    cells = cells.group_by(*keys, column("cell"))
    held = exp.select(*keys, "size").from_(in_each_cell(table("cells"), [*names, "cell", "n", "size"], of, elements))
    held = held.group_by(*keys, column("size"), column("element"))
    held = held.having(exp.EQ(this=exp.Sum(this=column("n")), expression=column("size"))).distinct()
    classes = exp.select(exp.Count(this=exp.Star())).from_(exp.select(*keys).distinct().from_("cells").subquery("each"))
    counts = (exp.Count(this=exp.Star()), exp.Sum(this=column("size")), classes.subquery())
    single, records, all_classes = session.row(exp.select(*counts).from_(held.subquery("held")).with_("cells", cells))
    name = shortened(attribute.column)
    model = f"probabilistic_l_diversity: {{column: {attribute.column}, l: 2}}"
    if single:
        yield must_decide(
            f"A reader who finds a person's class learns an element of {name} in {single:,} of {all_classes:,} "
            f"classes, where all {int(records):,} records have one in common. Add to privacy_models: {model}."
        )
    else:
        yield note(
            f"No privacy model names {name}. In no class all records have an element in common; {model} in "
            "privacy_models keeps that so."
        )


def _single_valued(plan: ReleasePlan, attribute: AttributePolicy, single: int, classes: int, records: int) -> Warned:
    """The warning about a sensitive column that no model names, of whose classes so many have a single value.

    With the model that it advises, and the same classes, exactly the records of these are suppressed as well.
    """
    name = shortened(attribute.column)
    model = f"distinct_l_diversity: {{column: {attribute.column}, l: 2}}"
    if not single:
        # Where people have several records, that model counts people.
        meets = "" if plan.repeating else ", and this release meets it"
        return note(
            f"No privacy model names {name}. No class has one value of it alone; {model} in privacy_models keeps "
            f"that so{meets}."
        )
    suppressed, allowed = plan.records - plan.kept_records + records, plan.policy.suppressible(plan.records)
    limit = "within" if suppressed <= allowed else "above"
    return must_decide(
        f"A reader who finds a person's class learns the value of {name} in {single:,} of {classes:,} classes, which "
        f"have one value each ({records:,} records). Add to privacy_models: {model}. In these classes it suppresses "
        f"{suppressed:,} records in all, {limit} the {allowed:,} that suppression_limit allows."
    )
