"""The contents of a table without its values: names, types, counts; values only on request."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, column, expression, number, sql, table
from tableveil.hierarchy import ValueKind
from tableveil.policy import TableReference
from tableveil.source.model import Column
from tableveil.source.tables import columns_of, without_values

MOST_ROWS_COUNTED_EXACTLY = 1_000_000
"""From this number of rows on, distinct values are estimated: counting them takes memory for every one of them."""

MOST_COLUMNS_COUNTED_EXACTLY = 400

# Columns looked at in one scan. DuckDB's time to plan exact counts grows with the square of their number.
_AT_ONCE_EXACTLY = 8
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """The contents of a column.

    `kind` is None if the type cannot be released. `type` is DuckDB's spelling, without the values of an ENUM.
    `distinct` counts the values without NULL, estimated if not `distinct_exact`. `shortest` and `longest` are lengths
    in characters of the values as text. Only if values were asked for: the least and greatest value, and the most
    frequent `values` with their numbers of rows, as text.
    """

    name: str
    type: str
    kind: ValueKind | None
    nulls: int
    distinct: int
    distinct_exact: bool
    shortest: int | None
    longest: int | None
    minimum: str | None = None
    maximum: str | None = None
    values: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A table, its rows, and its columns in table order."""

    reference: TableReference
    rows: int
    columns: tuple[ColumnDescription, ...]


def describe(session: WarehouseSession, reference: TableReference, most_values: int = 0) -> TableDescription:
    """Describes an existing table by its full name, with up to `most_values` values of each column.

    Call it in a transaction if others may change the table meanwhile.
    """
    rows: int = session.value(sql("SELECT count(*) FROM $rows", rows=_named(reference)))
    columns = columns_of(session, reference)
    exactly = rows <= MOST_ROWS_COUNTED_EXACTLY and len(columns) <= MOST_COLUMNS_COUNTED_EXACTLY
    at_once = _AT_ONCE_EXACTLY if exactly else _AT_ONCE
    described: list[ColumnDescription] = []
    for start in range(0, len(columns), at_once):
        described += _counted(session, reference, columns[start : start + at_once], rows, exactly)
    if most_values:
        described = [_with_values(session, reference, source_column, most_values) for source_column in described]
    return TableDescription(reference, rows, tuple(described))


def _counted(
    session: WarehouseSession,
    reference: TableReference,
    columns: Sequence[Column | tuple[str, str]],
    rows: int,
    exactly: bool,
) -> list[ColumnDescription]:
    """The columns without values, in one scan."""
    distinct, length = "count(DISTINCT $v)" if exactly else "approx_count_distinct($v)", "length($v::VARCHAR)"
    wanted = [
        expression(aggregate, v=_comparable(*_name_and_kind(source_column)))
        for source_column in columns
        for aggregate in ("count($v)", distinct, f"min({length})", f"max({length})")
    ]
    figures = session.row(exp.select(*(alias(e, f"f{i}") for i, e in enumerate(wanted))).from_(_named(reference)))
    described = []
    for position, source_column in enumerate(columns):
        present, distinct_values, shortest, longest = figures[4 * position : 4 * position + 4]
        name, kind = _name_and_kind(source_column)
        type_ = without_values(source_column.type if isinstance(source_column, Column) else source_column[1])
        # An estimate may exceed the number of values.
        distinct_values = min(distinct_values, present)
        described.append(
            ColumnDescription(name, type_, kind, rows - present, distinct_values, exactly, shortest, longest)
        )
    return described


def _with_values(
    session: WarehouseSession, reference: TableReference, described: ColumnDescription, most: int
) -> ColumnDescription:
    value = _comparable(described.name, described.kind)
    extremes = "SELECT CAST(min($value) AS VARCHAR), CAST(max($value) AS VARCHAR) FROM $rows"
    minimum, maximum = session.row(sql(extremes, value=value, rows=_named(reference)))
    frequent = sql(
        "SELECT CAST($value AS VARCHAR) AS value, count(*) AS records FROM $rows WHERE $column IS NOT NULL GROUP BY 1 "
        "ORDER BY records DESC, value LIMIT $most",
        value=value,
        rows=_named(reference),
        column=column(described.name),
        most=number(most),
    )
    return replace(described, minimum=minimum, maximum=maximum, values=tuple(session.rows(frequent)))


def _comparable(name: str, kind: ValueKind | None) -> exp.Expr:
    """The column's values in a form that can be compared and counted, which a MAP by itself cannot."""
    return column(name) if kind is not None else cast(column(name), "VARCHAR")


def _name_and_kind(found: Column | tuple[str, str]) -> tuple[str, ValueKind | None]:
    return (found.name, found.kind) if isinstance(found, Column) else (found[0], None)


def _named(reference: TableReference) -> exp.Table:
    return table(reference.table, reference.schema, reference.catalog)
