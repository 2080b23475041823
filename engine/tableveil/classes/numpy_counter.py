"""Counting in memory: the plain reference, and the fast way when the distinct combinations are few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.between import LevelMaps
from tableveil.classes.blocks import Blocks
from tableveil.classes.keys import KeyLayout, distinct
from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation

DENSE = 2
"""Keys that could take so many values per row or fewer are places in an array of sizes themselves."""

MARKED = 128
LARGEST_MARKED = 1 << 23
"""Up to so many values per row, and in all, those that occur are marked in an array and numbered; more are sorted."""


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
        # Other integers are converted to intp each time they index an array, which takes longer than the indexing.
        self._groups = tuple(np.asarray(group, np.intp) for group in groups)
        # Sums of counts stay below 2**53, so float64, in which numpy's bincount weighs, holds them exactly.
        self._counts = np.asarray(counts, np.float64)
        self._withheld = withheld
        self._at = at or (0,) * len(self._levels)
        self._blocks = Blocks(self._at, self._groups, LevelMaps(levels))
        # Small classes are asked for right after the classes: the grouping is kept for that.
        self._last: tuple[Transformation, NDArray[np.int64] | NDArray[np.intp], NDArray[np.int64]] | None = None

    @property
    def name(self) -> str:
        """Who counts, for the evidence."""
        return "numpy"

    @property
    def account(self) -> str:
        """What was counted from what so far, in one sentence."""
        return f"all {len(self._counts):,} combinations in numpy"

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are kept."""
        return self._counts.nbytes + sum(groups.nbytes for groups in self._groups)

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
        words = self._blocks.keys(transformation, layout)
        if layout.words == 1 and layout.space <= DENSE * len(self._counts):
            # The key itself is the place of its class.
            places, sizes = words[0], self._sizes(words[0], layout.space)
            keys = np.flatnonzero(sizes)
            found = EquivalenceClasses(layout, (keys,), sizes[keys])
        else:
            if layout.words == 1 and layout.space <= min(MARKED * len(self._counts), LARGEST_MARKED):
                places, classes = _numbered(words[0], layout.space)
            else:
                first, places = distinct(words)
                classes = tuple(word[first] for word in words)
            sizes = self._sizes(places, len(classes[0]))
            found = EquivalenceClasses(layout, classes, sizes)
        self._last = (transformation, places, sizes)
        return found

    def small_classes(self, transformation: Transformation, minimum_size: int) -> Marginals:
        """The records in classes of fewer than `minimum_size` at the transformation."""
        if self._last is None or self._last[0] != transformation:
            self.classes(transformation)
        assert self._last is not None
        _, places, sizes = self._last
        return self._marginals_of(np.flatnonzero((sizes < minimum_size)[places]))

    def _sizes(self, places: NDArray[np.int64] | NDArray[np.intp], number: int) -> NDArray[np.int64]:
        return np.bincount(places, weights=self._counts, minlength=number).astype(np.int64)

    def _marginals_of(self, rows: NDArray[np.intp] | slice) -> Marginals:
        counts = self._counts[rows]
        marginals = [
            np.bincount(groups[rows], weights=counts, minlength=len(levels.leaves[level])).astype(np.int64)
            for levels, groups, level in zip(self._levels, self._groups, self._at, strict=True)
        ]
        return Marginals(self._at, tuple(marginals))


def _numbered(keys: NDArray[np.int64], space: int) -> tuple[NDArray[np.intp], tuple[NDArray[np.int64], ...]]:
    """Per row the number of its key among the distinct ones, and those, ascending: faster than sorting."""
    marks = np.zeros(space, np.bool_)
    marks[keys] = True
    distinct_keys = np.flatnonzero(marks)
    numbers = np.empty(space, np.int32)
    numbers[distinct_keys] = np.arange(len(distinct_keys), dtype=np.int32)
    return numbers[keys].astype(np.intp), (distinct_keys,)
