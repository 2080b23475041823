"""Writes the released rows and the public tables made from them."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, call, cast, column, create_table, number, table, text
from tableveil.counting.base import joined_code
from tableveil.hierarchy import ValueKind
from tableveil.release.plan import ReleasedColumn, ReleasePlan
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.state.releases import risk_measures

SUPPRESSED = "suppressed_classes"


def stage_suppressed(session: Session, plan: ReleasePlan) -> None:
    """Puts the keys of the suppressed classes into a temporary table, before the transaction that writes."""
    gone = ~plan.kept
    columns = {f"w{word}": pa.array(keys[gone]) for word, keys in enumerate(plan.classes.words)}
    with session.relation("suppressed_keys", pa.table(columns)):
        query = exp.select("*").from_(table("suppressed_keys"))
        session.execute(create_table(table(SUPPRESSED), query, temporary=True))


def write_rows(session: Session, plan: ReleasePlan, target: exp.Table) -> None:
    """Creates the table of released rows, sorted by all of its columns so that their order says nothing."""
    rows: exp.Query = _kept_rows(plan)
    order = [column(released.name) for released in plan.columns()]
    if plan.marker:
        blank = exp.select(alias(exp.true(), plan.marker)).from_(call("range", number(plan.suppressed_records)))
        kept = _kept_rows(plan).select(alias(exp.false(), plan.marker))
        # BY NAME fills every other column with NULL.
        rows = exp.Union(this=kept, expression=blank, distinct=False, by_name=True)
        order.insert(0, column(plan.marker))
    ordered = exp.select("*").from_(rows.subquery("released")).order_by(*order)
    session.execute(create_table(target, ordered))


def write_view(session: Session, plan: ReleasePlan, view: exp.Table, snapshot: exp.Table) -> None:
    """Creates the view that shows the snapshot."""
    names = [released.name for released in plan.columns()] + ([plan.marker] if plan.marker else [])
    query = exp.select(*(column(name) for name in names)).from_(snapshot.copy())
    session.execute(exp.Create(this=view, kind="VIEW", expression=query))


def write_classes(session: Session, plan: ReleasePlan, rows: exp.Table, target: exp.Table) -> None:
    """Creates the table of released classes, from the released rows alone: labels, `class_size`, `risk`."""
    labels = [column(released.name) for released in plan.quasi_identifiers()]
    size_name, risk_name = class_columns(plan)
    counted = exp.select(*labels, alias(exp.Count(this=exp.Star()), size_name)).from_(rows.copy())
    if plan.marker:
        counted = counted.where(exp.Not(this=column(plan.marker)))
    counted = counted.group_by(*(label.copy() for label in labels))
    risk = exp.Div(this=cast(number(1), "DOUBLE"), expression=column(size_name))
    query = (
        exp.select(*(label.copy() for label in labels), column(size_name), alias(risk, risk_name))
        .from_(counted.subquery("counted"))
        .order_by(*(label.copy() for label in labels))
    )
    session.execute(create_table(target, query))


def class_columns(plan: ReleasePlan) -> tuple[str, str]:
    """Names of the columns for a class's size and risk, other than all quasi-identifiers' names."""
    taken = {released.name.casefold() for released in plan.quasi_identifiers()}
    names = []
    for name in ("class_size", "risk"):
        while name in taken:
            name = f"{name}_"
        names.append(name)
    return names[0], names[1]


def class_sizes(session: Session, plan: ReleasePlan, classes: exp.Table) -> ClassSizes:
    """The histogram of the sizes of the released classes."""
    size = class_columns(plan)[0]
    query = (
        exp.select(alias(column(size), "size"), alias(exp.Count(this=exp.Star()), "classes"))
        .from_(classes.copy())
        .group_by(column(size))
        .order_by(column(size))
    )
    found = session.arrays(query)
    return ClassSizes(found["size"], found["classes"])


def write_risk(session: Session, risk: ProsecutorRisk, suppressed: int, target: exp.Table) -> int:
    """Creates the table of risk measures and returns its number of rows.

    Columns: `measure`, `threshold` (a decimal as text, or NULL), `value`.
    """
    rows = [*risk_measures(risk), ("suppressed_records", None, float(suppressed))]
    data = pa.table(
        {
            "measure": pa.array([row[0] for row in rows], pa.string()),
            "threshold": pa.array([row[1] for row in rows], pa.string()),
            "value": pa.array([row[2] for row in rows], pa.float64()),
        }
    )
    _write_arrow(session, data, target)
    return len(rows)


def write_risk_histogram(session: Session, sizes: ClassSizes, target: exp.Table) -> None:
    """Creates the table of class sizes: `class_size`, `classes`, `records`, `risk`."""
    data = pa.table(
        {
            "class_size": pa.array(sizes.sizes, pa.int64()),
            "classes": pa.array(sizes.classes, pa.int64()),
            "records": pa.array(sizes.sizes * sizes.classes, pa.int64()),
            "risk": pa.array(1.0 / sizes.sizes, pa.float64()),
        }
    )
    _write_arrow(session, data, target)


def distinct_labels(session: Session, plan: ReleasePlan, classes: exp.Table) -> dict[str, int]:
    """Per quasi-identifier, how many different labels (NULL is one) the released classes have."""
    counts = {}
    for released in plan.quasi_identifiers():
        distinct = exp.select(column(released.name)).distinct().from_(classes.copy())
        counts[released.name] = session.value(exp.select(exp.Count(this=exp.Star())).from_(distinct.subquery("labels")))
    return counts


def _kept_rows(plan: ReleasePlan) -> exp.Select:
    query = exp.select().from_(plan.source.table("source"))
    suppresses = bool((~plan.kept).any())
    layout = plan.classes.layout
    words: list[exp.Expr] = [cast(number(0), "BIGINT") for _ in range(layout.words)]
    for j, (dictionary, level) in enumerate(zip(plan.dictionaries, plan.transformation, strict=True)):
        # The top is one label for all, and level 0 is the value itself: neither needs the dictionary for its label.
        if (suppresses and layout.radices[j] > 1) or 0 < level < dictionary.levels.top:
            query, group = joined_code(query, dictionary, "source", f"d{j}", level)
            part = exp.Mul(this=cast(group, "BIGINT"), expression=number(layout.stride[j]))
            words[layout.word[j]] = exp.Add(this=words[layout.word[j]], expression=part)
        if dictionary.withholds:
            query = query.where(column(dictionary.column.name, "source").is_(exp.null()).not_())
    if suppresses:
        same = exp.and_(*(exp.EQ(this=column(f"w{w}", SUPPRESSED), expression=word) for w, word in enumerate(words)))
        query = query.join(table(SUPPRESSED), on=same, join_type="ANTI")
    aliases = {dictionary.column.name: f"d{j}" for j, dictionary in enumerate(plan.dictionaries)}
    return query.select(*(alias(_released(released, aliases), released.name) for released in plan.columns()))


def _released(released: ReleasedColumn, aliases: dict[str, str]) -> exp.Expr:
    dictionary = released.dictionary
    if dictionary is None or released.level == 0:
        value: exp.Expr = column(released.name, "source")
        if released.column.kind is ValueKind.FLOAT:
            value = _in_one_spelling(value)
        return value if released.type == released.column.type else cast(value, released.type)
    if released.level == dictionary.levels.top:
        return text(dictionary.top_label)
    return column(dictionary.label_name(released.level), aliases[released.name])


def _in_one_spelling(value: exp.Expr) -> exp.Expr:
    """The floating-point number without the sign of a zero: equal values must not look different.

    Else a class would fall apart by it, and equal rows would stay in the order of the source.
    """
    zero = exp.EQ(this=value.copy(), expression=number(0))
    return exp.Case(ifs=[exp.If(this=zero, true=number(0))], default=value)


def _write_arrow(session: Session, data: pa.Table, target: exp.Table) -> None:
    with session.relation("written", data):
        session.execute(create_table(target, exp.select("*").from_(table("written"))))
