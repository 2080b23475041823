"""The facts that a policy draft needs about a table's columns.

They are fewer than in `describe`, and take less time: a risk analysis that guesses its columns waits for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    is_finite,
    number,
    row_hash,
    row_number,
    seconds_of,
    table,
    text,
)
from tableveil.drafting import PARTIAL_DATES, PARTIAL_DATES_BACKWARDS, ColumnFacts, identifies_by_name, may_be_code
from tableveil.hierarchy import ValueKind
from tableveil.policy import TableReference
from tableveil.source.description import MOST_ROWS_COUNTED_EXACTLY
from tableveil.source.model import Column
from tableveil.source.tables import columns_of

MOST_COLUMNS_COUNTED_EXACTLY = 50
"""In wider tables, distinct values are estimated, which is enough for guesses."""

# Columns looked at in one scan. DuckDB's time to plan exact counts grows with the square of their number.
_AT_ONCE_EXACTLY = 8
_AT_ONCE = 100

_RANGED = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT, ValueKind.DATE, ValueKind.TIMESTAMP)


_MEDICAL = {
    "ICD": ("^[A-TV-Z][0-9][0-9A-Z](\\.[0-9A-Z]{1,4})?$", "\\."),
    "ATC": ("^[A-DG-JL-NPRSV][0-9]{2}[A-Z]{2}[0-9]{2}$", "."),
}
"""Forms of all values in medical codes, and of at least one: `A10` alone may be a seat, or a ward."""

_LONGEST_MEDICAL = 8

_DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d")
_MOST_DATES = 100_000
"""The days of 270 years: a column of more different values has no dates."""

# From 1.2.2024 to 01.02.2024; the database would take 1.2.24 for the year 24.
_SHORTEST_DATE, _LONGEST_DATE = 7, 30
_UNKNOWN = "00|99|UN|NK|XX|xx|[?][?]|--|__"
_MONTH, _DAY = rf"(0[1-9]|1[0-2]|{_UNKNOWN})", rf"(0[1-9]|[12][0-9]|3[01]|{_UNKNOWN})"
_TIME = "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?Z?"
_PARTIAL_DATES = {
    PARTIAL_DATES: (f"[12][0-9]{{3}}([-/.]{_MONTH}([-/.]{_DAY}({_TIME})?)?)?", "[0-9]{4}[-/.].*"),
    PARTIAL_DATES_BACKWARDS: (f"(({_DAY}[-.])?{_MONTH}[-.])?[12][0-9]{{3}}", ".*[-.][0-9]{4}"),
}
"""The patterns that partial dates of each kind have, and those of them that say more than a year.

A day first is not told from a month first where a slash is between.
"""


def role_facts(session: WarehouseSession, reference: TableReference) -> list[ColumnFacts]:
    """The facts for guessing roles, about all columns of an existing table, in table order.

    Columns that cannot be released are not counted, nor columns whose names alone identify: those have most values.
    Call it in a transaction if others may change the table meanwhile.
    """
    uncounted = _uncounted(session, reference)
    counted = iter(_all_counted(session, reference, [facts for facts in uncounted if not identifies_by_name(facts)]))
    return [facts if identifies_by_name(facts) else next(counted) for facts in uncounted]


def column_facts(session: WarehouseSession, reference: TableReference) -> list[ColumnFacts]:
    """The facts about all columns; those that cannot be released have only a name and a type.

    Otherwise as in `role_facts`.
    """
    counted = _all_counted(session, reference, _uncounted(session, reference))
    facts: list[ColumnFacts] = []
    for start in range(0, len(counted), _AT_ONCE):
        facts += _with_ranges(session, reference, counted[start : start + _AT_ONCE])
    return facts


def sampled(
    session: Session, reference: TableReference, columns: Sequence[ColumnFacts], most: int
) -> dict[str, NDArray[np.float64]]:
    """The values of columns in at most so many rows all over a table: numbers and seconds, else any numbers.

    NULL is NaN.
    """
    step = max(1, -(-columns[0].rows // most))
    wanted = [alias(_as_number(facts), f"of{position}") for position, facts in enumerate(columns)]
    rows = exp.select(*wanted, alias(row_number([]), "position")).from_(_named(reference)).subquery("numbered")
    remainder = exp.Mod(this=column("position"), expression=number(step))
    arrays = session.arrays(exp.select(exp.Star()).from_(rows).where(exp.EQ(this=remainder, expression=number(0))))
    return {facts.name: arrays[f"of{position}"].astype(np.float64) for position, facts in enumerate(columns)}


def _as_number(facts: ColumnFacts) -> exp.Expr:
    value: exp.Expr = column(facts.name)
    filled: exp.Expr = value.copy().is_(exp.null()).not_()
    if facts.kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
        value, filled = seconds_of(value), is_finite(value.copy())
    elif facts.kind not in (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT):
        value = row_hash(value)
    return exp.Case(default=cast(text("NaN"), "DOUBLE")).when(filled, cast(value, "DOUBLE"))


def _uncounted(session: WarehouseSession, reference: TableReference) -> list[ColumnFacts]:
    rows: int = session.value(exp.select(exp.Count(this=exp.Star())).from_(_named(reference)))
    columns = columns_of(session, reference)
    exactly = rows <= MOST_ROWS_COUNTED_EXACTLY and len(columns) <= MOST_COLUMNS_COUNTED_EXACTLY
    return [
        ColumnFacts(source_column.name, source_column.type, source_column.kind, rows, 0, 0, exactly)
        if isinstance(source_column, Column)
        else ColumnFacts(*source_column, None, rows, 0, 0, exactly)
        for source_column in columns
    ]


def _all_counted(
    session: WarehouseSession, reference: TableReference, columns: Sequence[ColumnFacts]
) -> list[ColumnFacts]:
    at_once = _AT_ONCE_EXACTLY if columns and columns[0].exact else _AT_ONCE
    counted: list[ColumnFacts] = []
    for start in range(0, len(columns), at_once):
        counted += _counted(session, reference, columns[start : start + at_once])
    return counted


def _counted(session: WarehouseSession, reference: TableReference, columns: Sequence[ColumnFacts]) -> list[ColumnFacts]:
    wanted: dict[str, exp.Expr] = {}
    for position, facts in enumerate(columns):
        if facts.kind is None:
            continue
        value = column(facts.name)
        exact = exp.Count(this=exp.Distinct(expressions=[value.copy()]))
        wanted[f"present{position}"] = exp.Count(this=value)
        wanted[f"distinct{position}"] = exact if facts.exact else exp.ApproxDistinct(this=value.copy())
        if facts.kind is ValueKind.TEXT:
            length = exp.Length(this=cast(value.copy(), "VARCHAR"))
            wanted[f"shortest{position}"] = exp.Min(this=length)
            wanted[f"longest{position}"] = exp.Max(this=length.copy())
    numbers = _numbers(session, reference, wanted)
    return [
        facts
        if facts.kind is None
        else replace(
            facts,
            nulls=facts.rows - numbers[f"present{position}"],
            # An estimate may exceed the number of values.
            distinct=min(numbers[f"distinct{position}"], numbers[f"present{position}"]),
            shortest=numbers.get(f"shortest{position}"),
            longest=numbers.get(f"longest{position}"),
        )
        for position, facts in enumerate(columns)
    ]


def _numbers(session: WarehouseSession, reference: TableReference, wanted: dict[str, exp.Expr]) -> dict[str, Any]:
    """One row of these numbers over the table, by their names."""
    if not wanted:
        return {}
    query = exp.select(*(alias(expression, name) for name, expression in wanted.items())).from_(_named(reference))
    return dict(zip(wanted, session.row(query), strict=True))


def _with_ranges(
    session: WarehouseSession, reference: TableReference, columns: Sequence[ColumnFacts]
) -> list[ColumnFacts]:
    wanted: dict[str, exp.Expr] = {}
    for position, facts in enumerate(columns):
        value = column(facts.name)
        if facts.kind in _RANGED:
            wanted[f"least{position}"] = exp.Min(this=value.copy())
            wanted[f"greatest{position}"] = exp.Max(this=value.copy())
            if session.traits.keeps_ledger:
                wanted[f"low{position}"] = _quantile(value, "0.01")
                wanted[f"high{position}"] = _quantile(value, "0.99")
        if may_be_code(facts):
            of_digits = exp.RegexpLike(this=cast(value, "VARCHAR"), expression=text("[^0-9]")).not_()
            wanted[f"digits{position}"] = exp.LogicalAnd(this=of_digits)
        if _may_be_dates(facts):
            has_year = exp.RegexpLike(this=cast(value, "VARCHAR"), expression=text("[0-9]{4}"))
            wanted[f"years{position}"] = exp.LogicalAnd(this=has_year)
        if facts.kind is ValueKind.TEXT and 3 <= (facts.longest or 0) <= _LONGEST_MEDICAL:
            for name, (form, telling) in _MEDICAL.items():
                written = cast(value, "VARCHAR")
                wanted[f"{name}{position}"] = exp.and_(
                    exp.LogicalAnd(this=exp.RegexpLike(this=written, expression=text(form))),
                    exp.LogicalOr(this=exp.RegexpLike(this=written.copy(), expression=text(telling))),
                )
    ranges = _row(session, reference, wanted)
    return [
        replace(
            facts,
            minimum=ranges.get(f"least{position}"),
            maximum=ranges.get(f"greatest{position}"),
            low=ranges.get(f"low{position}"),
            high=ranges.get(f"high{position}"),
            digits=ranges.get(f"digits{position}") == "true" and bool(facts.shortest),
            codes=next((name for name in _MEDICAL if ranges.get(f"{name}{position}") == "true"), ""),
            date_format=_date_format(session, reference, facts) if ranges.get(f"years{position}") == "true" else "",
        )
        for position, facts in enumerate(columns)
    ]


def _quantile(value: exp.Expr, share: str) -> exp.Expr:
    # It takes the same little memory for any number of rows.
    return exp.ApproxQuantile(this=value.copy(), quantile=exp.Literal.number(share))


def _may_be_dates(facts: ColumnFacts) -> bool:
    fits = _SHORTEST_DATE <= (facts.longest or 0) <= _LONGEST_DATE and facts.distinct <= _MOST_DATES
    return facts.kind is ValueKind.TEXT and fits


def _date_format(session: WarehouseSession, reference: TableReference, facts: ColumnFacts) -> str:
    """The first date format that fits all values of a column of text; empty if there is none."""
    value = column(facts.name)
    values = exp.select(alias(cast(value, "VARCHAR"), "value")).distinct().from_(_named(reference))
    values = values.where(value.copy().is_(exp.null()).not_())
    rows = exp.Count(this=exp.Star())
    case = exp.Case(default=text(""))
    for partial, (pattern, longer) in _PARTIAL_DATES.items():
        fits = exp.RegexpFullMatch(this=column("value"), expression=text(pattern))
        is_part = exp.and_(
            exp.RegexpFullMatch(this=column("value"), expression=text(longer)), _is_no_day(column("value"))
        )
        case = case.when(exp.and_(exp.CountIf(this=fits).eq(rows), exp.CountIf(this=is_part) > 0), text(partial))
    for written in _DATE_FORMATS:
        dates = exp.Count(this=exp.StrToTime(this=column("value"), format=text(written), safe=True))
        case = case.when(exp.EQ(this=dates, expression=rows.copy()), text(written))
    date_format: str = session.embedded.value(exp.select(case).from_(collected(session, "draft_dates", values)))
    return date_format


def _is_no_day(value: exp.Expr) -> exp.Expr:
    """Whether the first ten characters are no day, in whatever order."""
    first = exp.Left(this=value, expression=number(10))
    formats = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d-%m-%Y")
    days = [exp.StrToTime(this=first.copy(), format=text(written), safe=True) for written in formats]
    return exp.Coalesce(this=days[0], expressions=days[1:]).is_(exp.null())


def _row(session: WarehouseSession, reference: TableReference, wanted: dict[str, exp.Expr]) -> dict[str, Any]:
    """One row of these aggregates over the table, by their names, as the embedded database spells them."""
    if not wanted:
        return {}
    query = exp.select(*(alias(expression, name) for name, expression in wanted.items())).from_(_named(reference))
    spelled = exp.select(*(cast(column(name), "VARCHAR") for name in wanted)).from_(
        collected(session, "draft_facts", query)
    )
    return dict(zip(wanted, session.embedded.row(spelled), strict=True))


def _named(reference: TableReference) -> exp.Table:
    return table(reference.table, reference.schema, reference.catalog)
