"""Reads values of columns of text, to see whether their cells look like lists."""

from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, collected, column, sql
from tableveil.drafting.lists import SeenLists, seen_lists
from tableveil.source.model import Source

MOST_VALUES = 20_000
"""The most frequent values are looked at."""

MOST_ROWS = 100_000
"""So many rows are looked at where values were not counted."""


def lists_in(session: WarehouseSession, source: Source, name: str) -> SeenLists | None:
    """The lists that the first rows of a column show."""
    counted = (
        "SELECT value, count(*) AS n FROM "
        f"(SELECT $value AS value FROM $rows WHERE $value IS NOT NULL LIMIT {MOST_ROWS}) AS first_rows GROUP BY value"
    )
    values = sql(counted, value=column(name), rows=source.table())
    return lists_among(session.embedded, collected(session, "seen_values", values))


def lists_among(session: Session, counted: exp.Expr) -> SeenLists | None:
    """The lists among the most frequent values, which are given for a FROM clause as `value` and `n`."""
    values = "SELECT CAST(value AS VARCHAR) AS value, n FROM $counted WHERE value IS NOT NULL ORDER BY n DESC, 1"
    return seen_lists(dict(session.rows(sql(f"{values} LIMIT {MOST_VALUES}", counted=counted))))
