"""Counting in memory: the plain reference, and the fast way when the distinct combinations are few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.between import LevelMaps
from tableveil.classes.keys import KeyLayout
from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


class NumpyCounter:
    """Counts from a histogram held as arrays: the base histogram, or one that was rolled up already.

    `groups[j][i]` is the group of quasi-identifier j at its level in `at` (the bottom unless given) in distinct
    combination i, and `counts[i]` the combination's number of records.
    """

    def __init__(
        self,
        levels: Sequence[AttributeLevels],
        groups: Sequence[NDArray[np.integer[Any]]],
        counts: NDArray[np.int64],
        withheld: int = 0,
        at: Transformation | None = None,
    ) -> None:
        self._levels = tuple(levels)
        self._groups = tuple(groups)
        self._counts = counts
        self._withheld = withheld
        self._at = at or (0,) * len(self._levels)
        self._maps = LevelMaps(levels)
        # Small classes are asked for right after the classes: the grouping is kept for that.
        self._last: tuple[Transformation, NDArray[np.intp], NDArray[np.int64]] | None = None

    @property
    def name(self) -> str:
        """Who counts, for the evidence."""
        return "numpy"

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Per quasi-identifier: its codes, groups and leaves."""
        return self._levels

    @property
    def records(self) -> int:
        """N, withheld records included."""
        return int(self._counts.sum()) + self._withheld

    @property
    def withheld(self) -> int:
        """Records suppressed at every transformation."""
        return self._withheld

    def marginals(self) -> Marginals:
        """All records but the withheld ones."""
        return self._marginals_of(slice(None))

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation."""
        radices = [len(levels.leaves[level]) for levels, level in zip(self._levels, transformation, strict=True)]
        layout = KeyLayout.of(radices)
        words = layout.pack([self._groups_at(j, level) for j, level in enumerate(transformation)])
        first, inverse = _distinct(words)
        # Sums of counts stay below 2**53 (numpy's bincount weighs in float64), so they are exact.
        sizes = np.bincount(inverse, weights=self._counts, minlength=len(first)).astype(np.int64)
        self._last = (transformation, inverse, sizes)
        return EquivalenceClasses(layout, tuple(word[first] for word in words), sizes)

    def small_classes(self, transformation: Transformation, minimum_size: int) -> Marginals:
        """The records in classes of fewer than `minimum_size` at the transformation."""
        if self._last is None or self._last[0] != transformation:
            self.classes(transformation)
        assert self._last is not None
        _, inverse, sizes = self._last
        return self._marginals_of(np.flatnonzero((sizes < minimum_size)[inverse]))

    def _groups_at(self, attribute: int, level: int) -> NDArray[np.integer[Any]]:
        groups = self._groups[attribute]
        if level != self._at[attribute]:
            groups = self._maps.between(attribute, self._at[attribute], level)[groups]
        return groups

    def _marginals_of(self, rows: NDArray[np.intp] | slice) -> Marginals:
        counts = self._counts[rows]
        marginals = [
            np.bincount(groups[rows], weights=counts, minlength=len(levels.leaves[level])).astype(np.int64)
            for levels, groups, level in zip(self._levels, self._groups, self._at, strict=True)
        ]
        return Marginals(self._at, tuple(marginals))


def _distinct(words: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first row of each distinct key, and per row the number of its key."""
    key = words[0]
    for word in words[1:]:
        # Ranks are below the number of rows, so that the product of two of them fits.
        _, left = np.unique(key, return_inverse=True)
        _, right = np.unique(word, return_inverse=True)
        key = left.astype(np.int64) * (int(right.max(initial=0)) + 1) + right
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse
