"""The distinct values of a column, as dictionaries number and hierarchies read them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tableveil.backend import cast, column
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import ValueKind

EXAMPLES = 5


def readable(kind: ValueKind) -> exp.Expr:
    """The value in a form that Python reads without further modules and that loses nothing the rules look at."""
    if kind is ValueKind.TIMESTAMP:
        # In UTC: the session's time zone.
        return cast(column("value"), "TIMESTAMP")
    return column("text") if kind in (ValueKind.TEXT, ValueKind.OTHER) else column("value")


def uncovered(name: str, field: str, texts: Sequence[str], among: str = "") -> Fault:
    """The fault of values that the hierarchy has no labels for; `among` says whose, if not the source's."""
    whose = f"{shortened(name)} {among}" if among else shortened(name)
    return Fault(
        field,
        f"{len(texts)} values of {whose} that the hierarchy does not cover: {examples(texts)}",
        "every value of the column covered",
        "Add them to the hierarchy, or widen its declared range; values are compared as the text DuckDB casts them to.",
    )


def examples(texts: Sequence[str]) -> str:
    """The first few of them."""
    return ", ".join(shortened(text) for text in texts[:EXAMPLES]) + (", …" if len(texts) > EXAMPLES else "")
