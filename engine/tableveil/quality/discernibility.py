"""Discernibility: every record costs the size of the class that it cannot be discerned in.

Why the bounds hold. S are the records in too small classes at hi, M the others, k the least class size, N all
records.

From hi: the others are in classes of k or more, or cost N, which is at least k. If they are in m classes, the sum of
squares is at least M^2/m (Cauchy and Schwarz), and x has no more classes than the product of the numbers of groups at
lo.

Between: records of a large class at lo cost at least its size at x. Remnants are the r records of a class at hi whose
class at lo is too small. At x they form classes of k or more, join a class that is large at lo already, or are
suppressed. A class of k + e costs at least k^2 + 2k e, joining b >= k others adds at least 2k a record, suppression
N. So they add at least k^2 for each of floor(r / k) classes, and min(2k, N) for each of the other records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, ClassCounter, EquivalenceClasses
from tableveil.lattice import Transformation
from tableveil.policy import DiscernibilityModel
from tableveil.quality.class_size import Groups, Subclasses
from tableveil.quality.model import AssessedTransformation, Score, Table


class Discernibility:
    """Sum over kept classes of size^2, plus N for every suppressed or withheld record.

    Source: Bayardo and Agrawal 2005, section 2.
    """

    bounds_by_classes = True

    def __init__(self, model: DiscernibilityModel, counter: ClassCounter) -> None:
        self._monotone = model.monotone
        self._records = counter.records
        self._withheld = counter.withheld
        self._groups = Groups(counter)

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The sum if exactly the classes of the mask are kept."""
        counts = classes.counts if self._monotone else classes.counts[kept]
        return AssessedTransformation((float(_squares(counts) + self._records * (self._records - int(counts.sum()))),))

    def evidence(self, check: Check) -> _Evidence:
        """Bounds by the number of records in small classes and the number of possible classes."""
        if self._monotone:
            return _Evidence(self._groups, self._records, self._withheld, 1)
        return _Evidence(self._groups, self._records, check.below, check.minimum_size)

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """Classes that are large at lo stay as large; each remaining record of the others costs more than k."""
        counts, k = lo.classes.counts, lo.minimum_size
        if self._monotone:
            return (float(_squares(counts) + self._records * self._withheld),)
        between = Subclasses.of(lo, hi, self._groups.maps)
        # Remnants form classes of k among themselves, except for fewer than k of them. Each of the rest makes such a
        # class or a large one larger by 1, which adds 2k or more to the sum, or is suppressed, which adds N.
        left_over = between.remnants % k
        remnants = k * (between.remnants - left_over) + min(2 * k, self._records) * left_over
        suppressed = int(counts[between.suppressed].sum()) + self._withheld
        return (float(_squares(counts[~lo.small]) + int(remnants.sum()) + self._records * suppressed),)

    def reported(self, score: Score) -> float:
        """The sum."""
        return score[0]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The other records are in classes of the minimum size or more, or suppressed.

    If M of them were in m classes, the sum of their squares would be at least M^2/m.
    """

    groups: Groups
    records: int
    suppressed: int
    minimum_size: int

    @property
    def guide(self) -> Table:
        return self.groups.guide

    def bound(self, lo: Transformation) -> Score:
        others = self.records - self.suppressed
        least = max(self.minimum_size * others, others * others // self.groups.most_classes(lo))
        return (float(least + self.records * self.suppressed),)


def _squares(counts: NDArray[np.int64]) -> int:
    return int(counts @ counts)
