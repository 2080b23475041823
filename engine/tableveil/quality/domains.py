"""The combinations of values that a label could stand for, for the quality models that count them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import LevelMaps, Marginals
from tableveil.hierarchy import AttributeLevels


class UncountableError(ValueError):
    """The quality model counts combinations of values, and these hierarchies do not let it.

    `attribute` is the position of the quasi-identifier whose domain is continuous; None if all together have too many.
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
    # A domain of 0 values is that of a column in which all is NULL and withheld.
    logarithms: NDArray[np.float64] = np.log2(np.maximum(attribute.leaves[level], 1.0))
    return logarithms


def log_combinations(levels: Sequence[AttributeLevels]) -> float:
    """log2 of the number of combinations of all domains, product_j |H_j|."""
    return math.fsum(math.log2(max(attribute.domain_size, 1.0)) for attribute in levels)


def crowding(levels: Sequence[AttributeLevels], marginals: Marginals) -> float:
    """log2 of how many times more leaves the classes inside a class could have, together, than the class; at least 0.

    It is 0 where the leaves of a group are at least those of the groups in it. Not so where more values occur than a
    rule declares: timestamps count as one leaf a day, and a text may have characters beyond its alphabet. `marginals`
    holds all records that are not withheld, per code: the others are in no class.
    """
    maps = LevelMaps(levels)
    return math.fsum(
        math.log2(max([1.0, *_times(attribute, j, counts, maps)]))
        for j, (attribute, counts) in enumerate(zip(levels, marginals.counts, strict=True))
    )


def _times(attribute: AttributeLevels, j: int, counts: NDArray[np.int64], maps: LevelMaps) -> Iterator[float]:
    """Per two levels, how many times more leaves the groups in a group have."""
    for high in range(1, attribute.top + 1):
        for low in range(high):
            occurs = np.bincount(attribute.groups[low], counts, maps.size(j, low)) > 0
            inside = np.bincount(maps.between(j, low, high)[occurs], attribute.leaves[low][occurs], maps.size(j, high))
            yield float((inside / np.maximum(attribute.leaves[high], 1.0)).max(initial=0.0))
