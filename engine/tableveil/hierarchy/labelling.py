"""The one door to all hierarchies whose levels are at hand: checks rules, labels values, and represents labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault
from tableveil.hierarchy import (
    combination,
    dates,
    grouping,
    intervals,
    listed,
    order_based,
    redaction,
    suppression,
    times_of_day,
)
from tableveil.hierarchy.definition import (
    Combination,
    Dates,
    Grouping,
    InlineLevels,
    Intervals,
    OrderBased,
    Redaction,
    RuleHierarchy,
    SuppressionOnly,
    TimesOfDay,
    field_of,
)
from tableveil.hierarchy.labelled import LabelledValues, ValueKind
from tableveil.hierarchy.represented import Representatives


def check_rule(rule: RuleHierarchy, field: str, kind: ValueKind | None = None) -> list[Fault]:
    """Lists the faults of a rule.

    Args:
        rule: The rule as the policy has it.
        field: The rule's path, such as `attributes[2].hierarchy.intervals`; faults point there or below.
        kind: The kind of the column's values; None checks the rule by itself.
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
        case Grouping():
            return grouping.check(rule, field, kind)
        case OrderBased():
            return order_based.check(rule, field, kind)
        case TimesOfDay():
            return times_of_day.check(rule, field, kind)
        case Combination(_, rest):
            return combination.check(rule, field) + check_rule(rest, f"{field}.rest.{field_of(rest)}", kind)


def label_values(
    definition: InlineLevels | RuleHierarchy,
    kind: ValueKind,
    values: Sequence[object],
    texts: Sequence[str],
    own: NDArray[np.bool_] | None = None,
) -> LabelledValues:
    """Labels the distinct values of a column at every level from 1 to the top.

    Args:
        definition: A hierarchy in which `check_levels` or `check_rule` (with this `kind`) found no fault; for others
            the result is undefined.
        kind: The kind of the column's values.
        values: The column's distinct values without NULL, as DuckDB returns them to Python; timestamps in UTC.
        texts: The values as text, as DuckDB's CAST AS VARCHAR gives them.
        own: The values that count where |H| or leaves are a number of values that occur; None: all.
    """
    counting = np.ones(len(texts), dtype=np.bool_) if own is None else own
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
            return suppression.label(definition, counting)
        case Grouping():
            return grouping.label(definition, kind, values, texts, counting)
        case OrderBased():
            return listed.label(order_based.rows(definition), kind, values, texts)
        case TimesOfDay():
            return times_of_day.label(definition, kind, values, texts)
        case Combination(_, rest):
            return combination.label(
                definition,
                values,
                texts,
                counting,
                lambda others, their_texts, their_own: label_values(rest, kind, others, their_texts, their_own),
            )


def representatives(definition: InlineLevels | RuleHierarchy) -> Representatives | None:
    """Values that have every label at every level, if the definition alone gives any.

    None for rules without values of their own (redaction, suppression), and for those with more labels than
    `MOST_REPRESENTATIVES`. The definition must be free of faults. A continuous rule without widths keeps values
    unchanged at level 1; no finite number of values represents these.
    """
    match definition:
        case InlineLevels(rows):
            return Representatives.of_texts([row[0] for row in rows])
        case Grouping(levels):
            return Representatives.of_texts([member for group in levels[0].groups for member in group.members])
        case OrderBased(values):
            return Representatives.of_texts(values)
        case Intervals():
            return intervals.representatives(definition)
        case Dates():
            return dates.representatives(definition)
        case TimesOfDay():
            return times_of_day.representatives()
        case Combination(rows, rest):
            others = representatives(rest)
            if others is None:
                return None
            own = {row[0]: None for row in rows}
            return Representatives(others.kind, (*own.values(), *others.values), (*own, *others.texts))
        case _:
            return None
