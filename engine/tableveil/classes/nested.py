"""The classes of a transformation as parts of the classes of a more general one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.between import LevelMaps
from tableveil.classes.keys import KeyLayout
from tableveil.classes.model import EquivalenceClasses
from tableveil.lattice import Transformation


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
