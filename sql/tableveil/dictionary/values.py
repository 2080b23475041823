"""The distinct values of a column, in the form that dictionaries number and hierarchies read."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import cast, column, number
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
from tableveil.source import Column

EXAMPLES = 5
_DIGITS_OF_MICROSECONDS = len("2024-12-31 23:59:59.999999")


def readable(found: Column) -> exp.Expr:
    """The value in a form that Python reads without further modules and without losing anything that rules look at.

    The expression is for a relation with the column's `value` and its cast to VARCHAR, `text`.
    """
    if found.type == "TIMESTAMP_NS":
        # A cast rounds to microseconds, which moves the last moment of a day into the next one.
        return cast(exp.Left(this=column("text"), expression=number(_DIGITS_OF_MICROSECONDS)), "TIMESTAMP")
    if found.kind is ValueKind.TIMESTAMP:
        # In UTC: the session's time zone.
        return cast(column("value"), "TIMESTAMP")
    by_value = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT, ValueKind.DATE)
    return column("value" if found.kind in by_value else "text")


def check_fit(
    attribute: AttributePolicy, hierarchy: InlineLevels | RuleHierarchy, kind: ValueKind, field: str
) -> list[Fault]:
    """The faults of using the attribute's hierarchy on a column of that kind; written-out rows fit any column."""
    if isinstance(attribute.hierarchy, SafeHarborHierarchy):
        return safe_harbor.check_kind(attribute.hierarchy, field, kind)
    if isinstance(hierarchy, InlineLevels):
        return []
    return check_rule(hierarchy, f"{field}.{field_of(hierarchy)}", kind)


def uncovered(name: str, field: str, texts: Sequence[str], among: str = "") -> Fault:
    """The fault of values without labels in the hierarchy; `among` names their table, if it is not the source.

    It counts them and shows none: a fault is kept with its job, where others may read it.
    """
    whose = f"{shortened(name)} {among}" if among else shortened(name)
    return Fault(
        field,
        f"{len(texts):,} {'value' if len(texts) == 1 else 'values'} of {whose} that the hierarchy does not cover",
        "every value of the column covered",
        "Add them to the hierarchy, or widen its declared range; values are compared as the text DuckDB casts them to. "
        "`tableveil hierarchies preview --values` shows some.",
    )


@dataclass(frozen=True, slots=True)
class CodedAttribute:
    """An attribute with its hierarchy, which has its rows if it is a listed one.

    `reference` is the hierarchy's name in the evidence. `number` tells the dictionaries of a job apart, and `field` is
    the attribute's path in the policy.
    """

    attribute: AttributePolicy
    hierarchy: InlineLevels | RuleHierarchy | None
    reference: str
    number: int
    field: str
