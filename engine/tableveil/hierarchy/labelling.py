"""The one door to all hierarchies whose levels are at hand: checks rules, labels values, and represents labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault
from tableveil.hierarchy import combination, listed
from tableveil.hierarchy.definition import Combination, InlineLevels, RuleHierarchy, field_of
from tableveil.hierarchy.labelled import LabelledValues, ValueKind
from tableveil.hierarchy.represented import Representatives
from tableveil.hierarchy.rules import RULES


def check_rule(rule: RuleHierarchy, field: str, kind: ValueKind | None = None) -> list[Fault]:
    """Lists the faults of a rule.

    Args:
        rule: The rule as the policy has it.
        field: The rule's path, such as `attributes[2].hierarchy.intervals`; faults point there or below.
        kind: The kind of the column's values; None checks the rule by itself.
    """
    if isinstance(rule, Combination):
        rest = rule.rest
        return combination.check(rule, field) + check_rule(rest, f"{field}.rest.{field_of(rest)}", kind)
    return RULES[type(rule)].check(rule, field, kind)


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
        case InlineLevels(rows):
            return listed.label_rows(rows, texts)
        case Combination(_, rest):
            return combination.label(
                definition,
                values,
                texts,
                counting,
                lambda others, their_texts, their_own: label_values(rest, kind, others, their_texts, their_own),
            )
        case rule:
            return RULES[type(rule)].label(rule, kind, values, texts, counting)


def representatives(definition: InlineLevels | RuleHierarchy) -> Representatives | None:
    """Values that have every label at every level, if the definition alone gives any.

    None for rules without values of their own (redaction, suppression), and for those with more labels than
    `MOST_REPRESENTATIVES`. The definition must be free of faults. A continuous rule without widths keeps values
    unchanged at level 1; no finite number of values represents these.
    """
    match definition:
        case InlineLevels(rows):
            return Representatives.of_texts([row[0] for row in rows])
        case Combination(rows, rest):
            others = representatives(rest)
            if others is None:
                return None
            own = {row[0]: None for row in rows}
            return Representatives(others.kind, (*own.values(), *others.values), (*own, *others.texts))
        case rule:
            return RULES[type(rule)].representatives(rule)
