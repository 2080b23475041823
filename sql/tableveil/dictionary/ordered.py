"""Places the distinct values of a column in a policy's order, and numbers them by it."""

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    in_one_spelling,
    left_join,
    sql,
    table,
    text,
    try_cast,
)
from tableveil.dictionary.values import readable, uncovered
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import AttributeLevels, InlineLevels, RuleHierarchy, ValueKind, attribute_levels, label_values
from tableveil.policy import AttributePolicy, OrderBy, ValueOrder
from tableveil.source import Column, Source
from tableveil.source.tables import shown_type

NUMBERS = r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"
DATES = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
"""The pattern of text: DuckDB's casts accept more, such as spaces around a number or a month of one digit."""

_NUMERIC = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT)
_TEMPORAL = (ValueKind.DATE, ValueKind.TIMESTAMP)

SEE_VALUES = "`tableveil describe --values` shows some."
"""Faults count values and show none: they are kept with their job, where others may read them."""


def check_kind(order: ValueOrder, source_column: Column, field: str) -> list[Fault]:
    """The fault of an order by number or date on a column of another type."""
    fitting = {OrderBy.NUMBER: _NUMERIC, OrderBy.DATE: _TEMPORAL}.get(order.by)
    if fitting is None or source_column.kind in (ValueKind.TEXT, *fitting):
        return []
    actual = f"{order.by} for {shortened(source_column.name)}, a column of type {shown_type(source_column.type)}"
    return [Fault(f"{field}.by", actual, "text, or a type of that kind", "TYPE orders values as their type does.")]


def place_values(
    session: WarehouseSession, source: Source, source_column: Column, order: ValueOrder, name: str
) -> None:
    """A temporary table of the distinct values: `value`, `text`, `n` and `place`, which orders them."""
    value: exp.Expr = column(source_column.name)
    if source_column.kind is ValueKind.FLOAT:
        value = in_one_spelling(value)
    distinct = sql("SELECT $value AS value, count(*) AS n FROM $source GROUP BY 1", value=value, source=source.table())
    values = "SELECT value, CAST(value AS VARCHAR) AS text, n FROM $distinct"
    found = sql(values, distinct=collected(session, "distinct_values", distinct)).subquery("found")
    query = sql("SELECT found.value, found.text, found.n FROM $found", found=found)
    if not order.values:
        query = query.select(alias(_place(source_column.kind, order.by), "place"))
        session.embedded.stage(name, query)
        return
    listed = pa.table({"text": pa.array(order.values, pa.string()), "place": pa.array(range(len(order.values)))})
    with session.embedded.relation("listed_order", listed):
        same = exp.EQ(this=column("text", "found"), expression=column("text", "listed"))
        query = left_join(query, table("listed_order", alias="listed"), same)
        query = query.select(column("place", "listed"))
        session.embedded.stage(name, query)


def _place(kind: ValueKind, by: OrderBy) -> exp.Expr:
    if kind is not ValueKind.TEXT or by is OrderBy.TYPE:
        return column("value", "found")
    pattern, type_ = (NUMBERS, "DOUBLE") if by is OrderBy.NUMBER else (DATES, "DATE")
    reads = exp.RegexpFullMatch(this=column("text", "found"), expression=text(pattern))
    return exp.Case(ifs=[exp.If(this=reads, true=try_cast(column("text", "found"), type_))])


def check_places(session: Session, placed: str, attribute: AttributePolicy, field: str) -> list[Fault]:
    """The fault of values without a place in the order."""
    order, name = attribute.order, shortened(attribute.column)
    if order.by is OrderBy.TYPE and not order.values:
        return []
    without = "SELECT count(*) FROM $placed WHERE place IS NULL AND value IS NOT NULL"
    count = session.value(sql(without, placed=table(placed)))
    if not count:
        return []
    values = f"{count:,} {'value' if count == 1 else 'values'} of {name}"
    if order.values:
        actual = f"{values} that {'is' if count == 1 else 'are'} not listed"
        hint = f"Add them where they belong, as the text DuckDB casts them to. {SEE_VALUES}"
        return [Fault(f"{field}.values", actual, "all values that occur", hint)]
    form = "numbers such as -1.5" if order.by is OrderBy.NUMBER else "dates as YYYY-MM-DD"
    hint = f"Correct them, or list the order in values. {SEE_VALUES}"
    return [Fault(f"{field}.by", f"{values} that {'is' if count == 1 else 'are'} none", form, hint)]


def check_distinct(session: Session, placed: str, attribute: AttributePolicy, field: str) -> list[Fault]:
    """The fault of texts that are one number: they have no order, and are two values to every model."""
    if attribute.order.by is OrderBy.TYPE:
        return []
    count = session.value(
        sql(
            "SELECT sum(texts) FROM (SELECT count(*) AS texts FROM $placed WHERE place IS NOT NULL GROUP BY place "
            "HAVING count(*) > 1) AS shared",
            placed=table(placed),
        )
    )
    if not count:
        return []
    actual = f"{count} values of {shortened(attribute.column)} that are the same number of 64 bits as others"
    hint = f"Write each number in one way, or list the order in values. {SEE_VALUES}"
    return [Fault(f"{field}.by", actual, "numbers that differ", hint)]


def write_codes(session: Session, table_name: str, placed: str) -> None:
    """A temporary table of the values with a place: `value`, `code` from 0 in their order, NULL last, and `n`."""
    query = "SELECT value, CAST(row_number() OVER (ORDER BY place) - 1 AS INTEGER) AS code, n FROM $placed"
    session.stage(table_name, sql(query, placed=table(placed)))


def levels_of(
    session: Session, table_name: str, source_column: Column, hierarchy: InlineLevels | RuleHierarchy, field: str
) -> tuple[AttributeLevels | None, list[Fault]]:
    """The groups of the codes, computed from the values."""
    read = exp.select(column("value"), alias(cast(column("value"), "VARCHAR"), "text"), column("code"))
    read = exp.select(readable(source_column), column("text")).from_(read.from_(table(table_name)).subquery("coded"))
    rows = session.rows(read.order_by("code"))
    has_null = bool(rows) and rows[-1][1] is None
    values = rows[:-1] if has_null else rows
    labelled = label_values(
        hierarchy, source_column.kind, [value for value, _ in values], [text_ for _, text_ in values]
    )
    missing = [text_ for (_, text_), covered in zip(values, labelled.covered, strict=True) if not covered]
    if missing:
        return None, [uncovered(source_column.name, field, missing)]
    return attribute_levels(labelled, has_null), []
