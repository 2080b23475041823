"""Bounds of class sizes, for the quality models that depend on nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, ClassCounter, LevelMaps, nest
from tableveil.lattice import Transformation
from tableveil.quality.bits import bits_lost
from tableveil.quality.model import Table


class Groups:
    """The groups that each attribute has at each level."""

    def __init__(self, counter: ClassCounter) -> None:
        self.maps = LevelMaps(counter.levels)
        self._numbers = tuple([len(leaves) for leaves in attribute.leaves] for attribute in counter.levels)
        # The cost of merging classes is no sum of parts per attribute; lost bits come close to it.
        self.guide: Table = tuple(
            np.array([bits_lost(counts, groups) for groups in attribute.groups])
            for attribute, counts in zip(counter.levels, counter.marginals().counts, strict=True)
        )

    def most_classes(self, at: Transformation) -> int:
        """No transformation at or above `at` has more classes."""
        return math.prod(max(numbers[level], 1) for numbers, level in zip(self._numbers, at, strict=True))


@dataclass(frozen=True, slots=True)
class Subclasses:
    """The knowledge from the classes at lo and hi about those of every transformation between.

    `suppressed` marks the classes at lo whose class at hi does not reach the minimum size: no class between does.
    `remnants` is, per class at hi that does reach it, the number of records in classes at lo that do not. Between, such
    a record is suppressed, or its class also contains a class of lo that reaches the size, or at least as many remnants
    of its class at hi as the size.
    """

    suppressed: NDArray[np.bool_]
    remnants: NDArray[np.int64]

    @classmethod
    def of(cls, lo: Check, hi: Transformation, maps: LevelMaps) -> Subclasses:
        """Computed from the classes counted at lo; those at hi are rolled up from them."""
        nested = nest(lo.classes, lo.at, hi, maps)
        small = nested.classes.counts < lo.minimum_size
        remnants = np.bincount(nested.parent, np.where(lo.small, lo.classes.counts, 0), len(small)).astype(np.int64)
        return cls(small[nested.parent], remnants[~small])
