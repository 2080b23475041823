"""The distinct values of a column, as dictionaries number and hierarchies read them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tableveil.backend import cast, column
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import (
    InlineLevels,
    RuleHierarchy,
    SafeHarborHierarchy,
    ValueKind,
    check_rule,
    field_of,
    safe_harbor,
)
from tableveil.policy import AttributePolicy

EXAMPLES = 5


def readable(kind: ValueKind) -> exp.Expr:
    """The value in a form that Python reads without further modules and that loses nothing the rules look at."""
    if kind is ValueKind.TIMESTAMP:
        # In UTC: the session's time zone.
        return cast(column("value"), "TIMESTAMP")
    return column("text") if kind in (ValueKind.TEXT, ValueKind.OTHER) else column("value")


def check_fit(
    attribute: AttributePolicy, hierarchy: InlineLevels | RuleHierarchy, kind: ValueKind, field: str
) -> list[Fault]:
    """The faults of using the attribute's hierarchy on a column of that kind; with rows, any column fits by itself."""
    if isinstance(attribute.hierarchy, SafeHarborHierarchy):
        return safe_harbor.check_kind(attribute.hierarchy, field, kind)
    if isinstance(hierarchy, InlineLevels):
        return []
    return check_rule(hierarchy, f"{field}.{field_of(hierarchy)}", kind)


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
