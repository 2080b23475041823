"""Reads values of columns of text, to see whether their cells look like lists."""

from __future__ import annotations

from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, alias, cast, collected, column, number
from tableveil.drafting.lists import SeenLists, seen_lists
from tableveil.source.model import Source

MOST_VALUES = 20_000
"""The most frequent values are looked at."""

MOST_ROWS = 100_000
"""So many rows are looked at where values were not counted."""


def lists_in(session: WarehouseSession, source: Source, name: str) -> SeenLists | None:
    """The lists that the first rows of a column show."""
    value = column(name)
    first = exp.select(alias(value, "value")).from_(source.table()).where(value.copy().is_(exp.null()).not_())
    counted = exp.select(column("value"), alias(exp.Count(this=exp.Star()), "n"))
    counted = counted.from_(first.limit(MOST_ROWS).subquery("first_rows")).group_by(column("value"))
    return lists_among(session.embedded, collected(session, "seen_values", counted))


def lists_among(session: Session, counted: exp.Expr) -> SeenLists | None:
    """The lists among the most frequent values, which are given for a FROM clause as `value` and `n`."""
    value = cast(column("value"), "VARCHAR")
    query = exp.select(alias(value, "value"), column("n")).from_(counted).where(column("value").is_(exp.null()).not_())
    query = query.order_by(exp.Ordered(this=column("n"), desc=True), number(1)).limit(MOST_VALUES)
    return seen_lists(dict(session.rows(query)))
