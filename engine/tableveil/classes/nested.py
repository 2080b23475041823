"""The classes of a transformation as parts of those of a more general one, and how its groups map to theirs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.keys import KeyLayout
from tableveil.classes.model import EquivalenceClasses
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


class LevelMaps:
    """Arrays from the group numbers of a level to those of a level above; each is made once."""

    def __init__(self, levels: Sequence[AttributeLevels]) -> None:
        self._levels = tuple(levels)
        self._maps: dict[tuple[int, int, int], NDArray[np.int32]] = {}

    def between(self, attribute: int, low: int, high: int) -> NDArray[np.int32]:
        """Shape (groups at `low`,): the group at `high` that each group at `low` is part of; levels nest."""
        key = (attribute, low, high)
        if key not in self._maps:
            groups = self._levels[attribute].groups
            array = np.zeros(len(self._levels[attribute].leaves[low]), np.int32)
            array[groups[low]] = groups[high]
            self._maps[key] = array
        return self._maps[key]

    def size(self, attribute: int, level: int) -> int:
        """Number of groups at the level."""
        return len(self._levels[attribute].leaves[level])


@dataclass(frozen=True, slots=True)
class NestedClasses:
    """`parent[i]` is the class at the general transformation that class i of the fine one is part of.

    `classes` are those at the general transformation, in the order that `parent` counts.
    """

    parent: NDArray[np.intp]
    classes: EquivalenceClasses


def nest(classes: EquivalenceClasses, lo: Transformation, hi: Transformation, maps: LevelMaps) -> NestedClasses:
    """The classes at `hi` >= `lo` by rolling up those at `lo`; nothing is counted."""
    layout = KeyLayout.of([maps.size(j, level) for j, level in enumerate(hi)])
    words = [np.zeros(len(classes.counts), np.int64) for _ in range(layout.words)]
    for j, (low, high) in enumerate(zip(lo, hi, strict=True)):
        if layout.radices[j] > 1:
            part = maps.between(j, low, high).astype(np.int64) * layout.stride[j]
            words[layout.word[j]] += part[classes.groups(j)]
    first, parent = distinct_keys(words)
    counts = np.bincount(parent, weights=classes.counts, minlength=len(first)).astype(np.int64)
    return NestedClasses(parent, EquivalenceClasses(layout, tuple(word[first] for word in words), counts, hi))


def distinct_keys(words: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first row of each distinct key, and per row the number of its key."""
    key = words[0]
    for word in words[1:]:
        # Ranks are below the number of rows, so that the product of two of them fits.
        _, left = np.unique(key, return_inverse=True)
        _, right = np.unique(word, return_inverse=True)
        key = left.astype(np.int64) * (int(right.max(initial=0)) + 1) + right
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse
