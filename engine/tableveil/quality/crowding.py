"""Crowding, where more values occur than hierarchies declare, for the quality model that counts combinations."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import LevelMaps, Marginals
from tableveil.hierarchy import AttributeLevels


def crowding(levels: Sequence[AttributeLevels], marginals: Marginals) -> float:
    """log2 of the largest ratio between the leaves of classes inside a class, together, and its own; at least 0.

    It is 0 where the leaves of a group are at least those of the groups in it. It is not 0 where more values occur than
    a rule declares: timestamps count as one leaf a day, and a text may have characters beyond its alphabet. `marginals`
    holds all records that are not withheld, per code: the others are in no class.
    """
    maps = LevelMaps(levels)
    return math.fsum(
        math.log2(max([1.0, *_times(attribute, j, counts, maps)]))
        for j, (attribute, counts) in enumerate(zip(levels, marginals.counts, strict=True))
    )


def _times(attribute: AttributeLevels, j: int, counts: NDArray[np.int64], maps: LevelMaps) -> Iterator[float]:
    """Per pair of levels, the ratio between the leaves of the groups in a group and its own."""
    for high in range(1, attribute.top + 1):
        for low in range(high):
            occurs = np.bincount(attribute.groups[low], counts, maps.size(j, low)) > 0
            inside = np.bincount(maps.between(j, low, high)[occurs], attribute.leaves[low][occurs], maps.size(j, high))
            yield float((inside / np.maximum(attribute.leaves[high], 1.0)).max(initial=0.0))
