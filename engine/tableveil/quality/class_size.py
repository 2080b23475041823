"""Average class size: the average number of records that a released record is hidden among.

Why the bounds hold, with k the least class size. From hi: kept classes have k records or more, and there are at most
as many as the product of the numbers of groups at lo. Between: a kept class holds a class that is large at lo, or at
least k records of small ones in one class of hi. So the number of classes is bounded, and the average falls with it,
in floating point too. The class of the suppressed counts if any may be suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, ClassCounter, EquivalenceClasses, LevelMaps, nest
from tableveil.lattice import Transformation
from tableveil.policy import AverageClassSizeModel
from tableveil.quality.model import AssessedTransformation, Factors, Score, Table, bits_lost


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


class AverageClassSize:
    """N / (s * number of kept classes + g if any record is suppressed or withheld), infinite if divided by 0.

    All suppressed records are one class. It counts by generalization's factor g, and kept classes count by
    suppression's factor s: a class that counts for less leaves a greater average.
    Source: LeFevre, DeWitt, Ramakrishnan 2006, section 5, there divided by k; suppression and factors as in ARX.
    """

    bounds_by_classes = True

    def __init__(self, model: AverageClassSizeModel, counter: ClassCounter, suppressible: int) -> None:
        """At most `suppressible` records may be suppressed, withheld ones included."""
        self._monotone = model.monotone
        self._factors = Factors.of(model.factor)
        self._records = counter.records
        self._withheld = counter.withheld
        self._may_suppress = counter.withheld > 0 or (suppressible > 0 and not model.monotone)
        self._groups = Groups(counter)

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The average if exactly the classes of the mask are kept."""
        counts = classes.counts if self._monotone else classes.counts[kept]
        return AssessedTransformation(self._average(len(counts), int(counts.sum()) < self._records))

    def evidence(self, check: Check) -> _Evidence:
        """Bounds by the number of records that can be kept, and the number of possible classes."""
        below, size = (self._withheld, 1) if self._monotone else (check.below, check.minimum_size)
        return _Evidence(self._groups, (self._records - below) // size, self._least)

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """A kept class contains a class of lo that is large already, or enough records of small ones to be large."""
        if self._monotone:
            return self._least(len(lo.classes.counts))
        between = Subclasses.of(lo, hi, self._groups.maps)
        return self._least(int((~lo.small).sum()) + int((between.remnants // lo.minimum_size).sum()))

    def reported(self, score: Score) -> float:
        """The average."""
        return score[0]

    def _least(self, most_classes: int) -> Score:
        """The least average with at most that many kept classes."""
        return self._average(most_classes, self._may_suppress)

    def _average(self, classes: int, suppresses: bool) -> Score:
        weight = self._factors.suppression * classes + (self._factors.generalization if suppresses else 0.0)
        return (self._records / weight if weight > 0 else math.inf,)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """There are no more kept classes than the other records can fill, nor than there are at lo."""

    groups: Groups
    most: int
    least: Callable[[int], Score]

    @property
    def guide(self) -> Table:
        return self.groups.guide

    def bound(self, lo: Transformation) -> Score:
        return self.least(min(self.most, self.groups.most_classes(lo)))
