"""The one door to all hierarchies whose levels are at hand: is a rule sound, and what does it make of these values."""

from __future__ import annotations

from collections.abc import Sequence

from tableveil.errors import Fault
from tableveil.hierarchy import dates, intervals, listed, redaction, suppression
from tableveil.hierarchy.definition import (
    Dates,
    InlineLevels,
    Intervals,
    Redaction,
    RuleHierarchy,
    SuppressionOnly,
)
from tableveil.hierarchy.labelled import LabelledValues, ValueKind


def check_rule(rule: RuleHierarchy, field: str, kind: ValueKind | None = None) -> list[Fault]:
    """Everything wrong with a rule.

    Args:
        rule: The rule as the policy has it.
        field: Its path, such as `attributes[2].hierarchy.intervals`; faults point there or below.
        kind: What the column holds; None checks the rule by itself.
    """
    match rule:
        case Intervals():
            return intervals.check(rule, field, kind)
        case Dates():
            return dates.check(rule, field, kind)
        case Redaction():
            return redaction.check(rule, field, kind)
        case SuppressionOnly():
            return suppression.check(rule, field, kind)


def label_values(
    definition: InlineLevels | RuleHierarchy, kind: ValueKind, values: Sequence[object], texts: Sequence[str]
) -> LabelledValues:
    """Labels the distinct values of a column at every level from 1 to the top.

    Args:
        definition: A hierarchy in which `check_levels` or `check_rule` (with this `kind`) found no fault; what comes
            of others is undefined.
        kind: What the column holds.
        values: Its distinct values without NULL, as DuckDB gives them to Python.
        texts: The same values as DuckDB's CAST AS VARCHAR gives them.
    """
    match definition:
        case InlineLevels():
            return listed.label(definition, kind, values, texts)
        case Intervals():
            return intervals.label(definition, kind, values, texts)
        case Dates():
            return dates.label(definition, kind, values, texts)
        case Redaction():
            return redaction.label(definition, kind, values, texts)
        case SuppressionOnly():
            return suppression.label(definition, kind, values, texts)
