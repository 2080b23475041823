"""The facts that a policy draft needs about a table's columns.

They are fewer than in `describe`, and take less time: a risk analysis that guesses its columns waits for them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, alias, cast, collected, column, expression, number, sql, table
from tableveil.drafting import (
    PARTIAL_DATES,
    PARTIAL_DATES_BACKWARDS,
    PERIODS,
    PERIODS_BACKWARDS,
    ColumnFacts,
    identifies_by_name,
    may_be_code,
)
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
    name: f"bool_and(regexp_matches($value::VARCHAR, '{form}')) AND bool_or(regexp_matches($value::VARCHAR, '{one}'))"
    for name, form, one in (
        ("ICD", "^[A-TV-Z][0-9][0-9A-Z](\\.[0-9A-Z]{1,4})?$", "\\."),
        ("ATC", "^[A-DG-JL-NPRSV][0-9]{2}[A-Z]{2}[0-9]{2}$", "."),
    )
}
"""Whether all values have the form of medical codes, and one another form: `A10` alone may be a seat, or a ward."""

_LONGEST_MEDICAL = 8

_DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d")
_MOST_DATES = 100_000
"""The days of 270 years: a column of more different values has no dates."""

_MONTHS = {
    f"%b{between}%{year}": f"[A-Za-z]{{3}}{between}[0-9]{{{digits}}}"
    for between in "- "
    for year, digits in (("y", 2), ("Y", 4))
}
"""Formats of months by their names, with the patterns that these have: a year of two digits is one of four as well."""

# From Mar-24 to 01.02.2024; the database would take 1.2.24 for the year 24.
_SHORTEST_DATE, _LONGEST_DATE = 6, 30
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
_PART = "(([Ww]|[Kk][Ww] ?)[0-5]?[0-9]|[QqTtHhSs][1-4])"
_PERIODS = {
    PERIODS: f"(19|20)[0-9]{{2}}([-/ ]?{_PART})?",
    PERIODS_BACKWARDS: f"({_PART}[-/ ]|(0[1-9]|1[0-2])/)?(19|20)[0-9]{{2}}",
}
"""The patterns of parts of years: a calendar week is KW in German, and a quarter T in French."""
_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d-%m-%Y")
_DAY_OF_FORMATS = ", ".join(f"try_strptime(left(value, 10), '{written}')" for written in _DAYS)
"""The day of the first ten characters, in whatever order."""
_FORMATS = {
    **{
        kind: f"count_if(regexp_full_match(value, '{pattern}')) = count(*) "
        f"AND count_if(regexp_full_match(value, '{longer}') AND coalesce({_DAY_OF_FORMATS}) IS NULL) > 0"
        for kind, (pattern, longer) in _PARTIAL_DATES.items()
    },
    **{
        kind: f"count_if(regexp_full_match(value, '{pattern}')) = count(*) AND count_if(length(value) > 4) > 0"
        for kind, pattern in _PERIODS.items()
    },
    **{written: f"count(try_strptime(value, '{written}')) = count(*)" for written in _DATE_FORMATS},
    **{
        written: f"count_if(regexp_full_match(value, '{pattern}')) = count(try_strptime(value, '{written}')) "
        f"AND count(try_strptime(value, '{written}')) = count(*)"
        for written, pattern in _MONTHS.items()
    },
}
_CASES = " ".join(f"WHEN {fits} THEN '{written}'" for written, fits in _FORMATS.items())


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
    query = (
        "SELECT * FROM (SELECT $wanted, row_number() OVER () AS position FROM $rows) AS numbered "
        "WHERE position % $step = 0"
    )
    arrays = session.arrays(sql(query, wanted=wanted, rows=_named(reference), step=number(step)))
    return {facts.name: arrays[f"of{position}"].astype(np.float64) for position, facts in enumerate(columns)}


def _as_number(facts: ColumnFacts) -> exp.Expr:
    value, filled = "hash($value)", "$value IS NOT NULL"
    if facts.kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
        value, filled = "epoch($value)", "isfinite($value)"
    elif facts.kind in (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT):
        value = "$value"
    return expression(f"CASE WHEN {filled} THEN {value}::DOUBLE ELSE 'NaN'::DOUBLE END", value=column(facts.name))


def _uncounted(session: WarehouseSession, reference: TableReference) -> list[ColumnFacts]:
    rows: int = session.value(sql("SELECT count(*) FROM $rows", rows=_named(reference)))
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
        wanted[f"present{position}"] = expression("count($value)", value=value)
        distinct = "count(DISTINCT $value)" if facts.exact else "approx_count_distinct($value)"
        wanted[f"distinct{position}"] = expression(distinct, value=value)
        if facts.kind is ValueKind.TEXT:
            wanted[f"shortest{position}"] = expression("min(length($value::VARCHAR))", value=value)
            wanted[f"longest{position}"] = expression("max(length($value::VARCHAR))", value=value)
    numbers = dict(zip(wanted, session.row(_select(wanted, reference)), strict=True)) if wanted else {}
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


def _with_ranges(
    session: WarehouseSession, reference: TableReference, columns: Sequence[ColumnFacts]
) -> list[ColumnFacts]:
    wanted: dict[str, exp.Expr] = {}
    for position, facts in enumerate(columns):
        asked = dict[str, str]()
        if facts.kind in _RANGED:
            asked |= {"least": "min($value)", "greatest": "max($value)"}
            if session.traits.keeps_ledger:
                # It takes the same little memory for any number of rows.
                asked |= {"low": "approx_quantile($value, 0.01)", "high": "approx_quantile($value, 0.99)"}
        if may_be_code(facts):
            asked["digits"] = "bool_and(NOT regexp_matches($value::VARCHAR, '[^0-9]'))"
        if _may_be_dates(facts):
            asked["years"] = "bool_and(regexp_matches($value::VARCHAR, '[0-9]{4}|^[A-Za-z]{3}[- ][0-9]{2}$'))"
        if facts.kind is ValueKind.TEXT and 3 <= (facts.longest or 0) <= _LONGEST_MEDICAL:
            asked |= _MEDICAL
        wanted |= {f"{name}{position}": expression(one, value=column(facts.name)) for name, one in asked.items()}
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


def _may_be_dates(facts: ColumnFacts) -> bool:
    fits = _SHORTEST_DATE <= (facts.longest or 0) <= _LONGEST_DATE and facts.distinct <= _MOST_DATES
    return facts.kind is ValueKind.TEXT and fits


def _date_format(session: WarehouseSession, reference: TableReference, facts: ColumnFacts) -> str:
    """The first date format that fits all values of a column of text; empty if there is none."""
    distinct = "SELECT DISTINCT $value::VARCHAR AS value FROM $rows WHERE $value IS NOT NULL"
    values = collected(session, "draft_dates", sql(distinct, value=column(facts.name), rows=_named(reference)))
    date_format: str = session.embedded.value(sql(f"SELECT CASE {_CASES} ELSE '' END FROM $values", values=values))
    return date_format


def _row(session: WarehouseSession, reference: TableReference, wanted: dict[str, exp.Expr]) -> dict[str, Any]:
    """One row of these aggregates over the table, by their names, as the embedded database spells them."""
    if not wanted:
        return {}
    rows = collected(session, "draft_facts", _select(wanted, reference))
    spelled = sql("SELECT $spelled FROM $rows", spelled=[cast(column(name), "VARCHAR") for name in wanted], rows=rows)
    return dict(zip(wanted, session.embedded.row(spelled), strict=True))


def _select(wanted: dict[str, exp.Expr], reference: TableReference) -> exp.Select:
    return exp.select(*(alias(each, name) for name, each in wanted.items())).from_(_named(reference))


def _named(reference: TableReference) -> exp.Table:
    return table(reference.table, reference.schema, reference.catalog)
