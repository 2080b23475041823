"""The combinations of values that a label could stand for, for models that count them."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy.levels import AttributeLevels


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
