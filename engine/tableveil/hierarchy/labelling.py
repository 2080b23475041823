"""The one door to all hierarchies whose levels are at hand: checks rules, labels values, and represents labels."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault
from tableveil.hierarchy import combination, listed
from tableveil.hierarchy.definition import Combination, InlineLevels, RuleHierarchy, field_of
from tableveil.hierarchy.labelled import LabelledValues, ValueKind
from tableveil.hierarchy.levels import AttributeLevels
from tableveil.hierarchy.rules import RULES
from tableveil.hierarchy.rules.traits import Representatives


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


class UncountableError(ValueError):
    """A model counts combinations of values, and these hierarchies do not allow it.

    `attribute` is the position of the quasi-identifier with a continuous domain; None if all together have too many
    combinations.
    """

    def __init__(self, attribute: int | None) -> None:
        super().__init__(
            "the quasi-identifiers have more combinations of values than a float can hold"
            if attribute is None
            else f"quasi-identifier {attribute} has a continuous domain: widths instead of values that can be counted"
        )
        self.attribute = attribute


def require_discrete(levels: Sequence[AttributeLevels]) -> None:
    """Raises `UncountableError` unless every domain is discrete."""
    for j, attribute in enumerate(levels):
        if attribute.continuous:
            raise UncountableError(j)


def log_leaves(attribute: AttributeLevels, level: int) -> NDArray[np.float64]:
    """log2(leaves) per group of the level; at least 0."""
    # A domain of 0 values belongs to a column in which all values are NULL and withheld.
    logarithms: NDArray[np.float64] = np.log2(np.maximum(attribute.leaves[level], 1.0))
    return logarithms


def log_combinations(levels: Sequence[AttributeLevels]) -> float:
    """log2 of the number of combinations of all domains, product_j |H_j|."""
    return math.fsum(math.log2(max(attribute.domain_size, 1.0)) for attribute in levels)
