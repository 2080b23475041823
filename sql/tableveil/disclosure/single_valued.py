"""Whether all records of a class have one value of a sensitive column that no model names."""

from collections.abc import Iterator

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column, row_hash, sql, table
from tableveil.dictionary.sensitive import in_each_cell
from tableveil.errors import Warned, must_decide, note, shortened
from tableveil.policy import AttributePolicy
from tableveil.release.plan import ReleasePlan
from tableveil.release.write import spread_table
from tableveil.source.spelling import has_spellings, spelling


def single_valued(
    session: WarehouseSession, plan: ReleasePlan, rows: exp.Table, nearly_names: frozenset[str]
) -> Iterator[Warned]:
    """Warnings about sensitive columns that no model names: how many released classes have a single value.

    No model is advised for columns that are `nearly_names` and have no such class: all of their values differ. It reads
    the tables of `spread_table` for rows that have to be collected.
    """
    released = exp.select().from_(rows)
    if plan.marker:
        released = released.where(exp.Not(this=column(plan.marker)))
    for attribute in plan.policy.unprotected:
        if attribute.listed_elements is not None:
            yield from _in_common(session, plan, attribute, released)
            continue
        if session.traits.collects:
            sensitive = [each.name for each in plan.diverse()].index(attribute.column)
            name, kept = "value", exp.select().from_(table(spread_table(sensitive)))
            labels = [column(f"v{i}") for i, _ in enumerate(plan.quasi_identifiers())]
        else:
            name, kept, labels = attribute.column, released, [column(each.name) for each in plan.quasi_identifiers()]
        value: exp.Expr = column(name)
        of = plan.source.column(attribute.column)
        if has_spellings(session.embedded, kept.select(alias(value, "value")), of):
            value = spelling(value, of)
        # Rows that were collected are counted by value.
        n = "sum(n)" if session.traits.collects else "count(*)"
        ends = f"SELECT min($hash) AS min, max($hash) AS max, {n} AS n"
        by_class = kept.select(*sql(ends, hash=row_hash(value)).expressions).group_by(*labels)
        counts = "SELECT count_if(min = max), count(*), sum(n) FILTER (WHERE min = max) FROM $classes"
        single, classes, records = session.embedded.row(sql(counts, classes=by_class.subquery("classes")))
        if single or (classes and attribute.column not in nearly_names):
            yield _single_valued(plan, attribute, single, classes, int(records or 0))


def _in_common(
    session: WarehouseSession, plan: ReleasePlan, attribute: AttributePolicy, released: exp.Select
) -> Iterator[Warned]:
    """The warning about lists that no model names: in how many released classes all of them share an element."""
    elements, of = attribute.listed_elements, plan.source.column(attribute.column)
    assert elements is not None, "the cells are lists"
    names = [f"v{i}" for i, _ in enumerate(plan.quasi_identifiers())]
    keys = [column(name) for name in names]
    named = [alias(column(label.name), name) for label, name in zip(plan.quasi_identifiers(), names, strict=True)]
    kept = released.select(*named, alias(column(attribute.column), "cell"))
    cells = sql(
        "SELECT $keys, cell, count(*) AS n, sum(count(*)) OVER (PARTITION BY $keys) AS size FROM $kept "
        "GROUP BY $keys, cell",
        keys=keys,
        kept=kept.subquery("kept"),
    )
    counts = sql(
        "WITH cells AS ($cells) SELECT count(*), sum(size), "
        "(SELECT count(*) FROM (SELECT DISTINCT $keys FROM cells) AS each) FROM (SELECT DISTINCT $keys, size "
        "FROM $elements GROUP BY $keys, size, element HAVING sum(n) = size) AS held",
        cells=cells,
        keys=keys,
        elements=in_each_cell(table("cells"), [*names, "cell", "n", "size"], of, elements),
    )
    single, records, all_classes = session.row(counts)
    name = shortened(attribute.column)
    model = f"probabilistic_l_diversity: {{column: {attribute.column}, l: 2}}"
    if single:
        yield must_decide(
            f"A reader who finds a person's class learns an element of {name} in {single:,} of {all_classes:,} "
            f"classes, where all {int(records):,} records have one in common. Add to privacy_models: {model}.",
            int(single),
            attribute.column,
        )
    else:
        yield note(
            f"No privacy model names {name}. In no class all records have an element in common; {model} in "
            "privacy_models keeps that so.",
            field=attribute.column,
        )


def _single_valued(plan: ReleasePlan, attribute: AttributePolicy, single: int, classes: int, records: int) -> Warned:
    """The warning about a sensitive column that no model names, of whose classes so many have a single value.

    With the model that it advises, and the same classes, exactly the records of these are suppressed as well.
    """
    name, related = shortened(attribute.column), plan.policy.related is not None
    model = f"{'sensitive_share' if related else 'distinct_l_diversity'}: {{column: {attribute.column}, l: 2}}"
    if not single:
        # Where people have several records, that model counts people.
        keeps = f"keeps that so{'' if plan.repeating else ', and this release meets it'}"
        return note(
            f"No privacy model names {name}. No class has one value of it alone; {model} in privacy_models "
            f"{'bounds it' if related else keeps}.",
            field=attribute.column,
        )
    suppressed, allowed = plan.records - plan.kept_records + records, plan.policy.suppressible(plan.records)
    suppresses = (
        f" In these classes it suppresses {suppressed:,} records in all, "
        f"{'within' if suppressed <= allowed else 'above'} the {allowed:,} that suppression_limit allows."
    )
    return must_decide(
        f"A reader who finds a person's class learns the value of {name} in {single:,} of {classes:,} classes, which "
        f"have one value each ({records:,} {'people' if related else 'records'}). Add to privacy_models: {model}."
        f"{'' if related else suppresses}",
        single,
        attribute.column,
    )
