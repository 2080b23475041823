"""beta-likeness: no value is much more frequent in a class than in the source.

NULL is a value like any other. A share may fall without limit: a class that lacks a value reveals that its people do
not have it, which the model does not count as a gain.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, SensitiveColumn
from tableveil.policy import BetaLikeness
from tableveil.privacy.column_rule import ColumnRule, excess, lowest_for, smallest_size, spelled
from tableveil.privacy.exact import Factor, floored


def beta(values: ClassValues, column: SensitiveColumn, enhanced: bool = False) -> NDArray[np.float64]:
    """Per class the largest (q - p)/p, the smallest beta that holds; if enhanced, infinite where one is above -ln p.

    Source: Cao and Karras 2012.
    """
    sizes = np.add.reduceat(values.counts, values.starts)[values.classes]
    expected = sizes.astype(np.float64) * column.counts[values.values]
    gain = (values.counts.astype(np.float64) * column.records - expected) / expected
    if enhanced:
        gain = np.where(values.counts <= _most_by_logarithm(column, values.values, sizes), gain, np.inf)
    return np.maximum.reduceat(gain, values.starts)


def _most_by_logarithm(column: SensitiveColumn, codes: NDArray[np.intp], sizes: Factor) -> NDArray[np.int64]:
    """Rounds n p (1 - ln p) down: it is irrational unless p = 1, so that floats can decide."""
    p = column.counts / column.records
    most: NDArray[np.int64] = np.floor((p * (1 - np.log(p)))[codes] * sizes).astype(np.int64)
    return most


@dataclass(frozen=True)
class BetaLikenessRule(ColumnRule[BetaLikeness]):
    """Classes where q <= (1 + beta) p for all values may be released; if enhanced, q <= (1 + min(beta, -ln p)) p.

    Source: Cao and Karras 2012. Monotone: the share of a value in a class lies between its shares in the parts. For the
    same reason, in the released parts of a class together a value has at most its largest share of their records, which
    are at most those of the class. The records beyond that are lost.
    """

    @cached_property
    def minimum_class_size(self) -> int:
        """The smallest size at which some value may have enough records.

        One record with a value needs a class of 1/((1 + beta) p) records; this is least for the most frequent value.
        """
        codes = np.arange(len(self.column.counts))
        start = math.ceil(self.column.records / (int(self.column.counts.max(initial=1)) * self._ratio))
        return smallest_size(start, lambda size: int(self._most(codes, size).sum()) >= size)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes with no value too frequent."""
        values = self.values(classes)
        fine = values.counts <= self._most(values.values, classes.counts[values.classes])
        return np.logical_and.reduceat(fine, values.starts)

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """The records that make a value too frequent."""
        values = self.values(classes)
        return excess(values, self._most(values.values, classes.counts[values.classes]))

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the smallest beta."""
        reached = beta(self.values(classes), self.column, self.model.enhanced)
        lowest = lowest_for(reached, classes.counts, suppressible)
        return spelled("beta", self.offered("beta", lowest, 1, classes, suppressible))

    @cached_property
    def _ratio(self) -> Fraction:
        """1 + beta; no q/p is above N, so that a larger ratio demands nothing."""
        return min(1 + Fraction(self.model.beta), Fraction(self.column.records))

    def _most(self, codes: NDArray[np.intp], sizes: Factor) -> NDArray[np.int64]:
        """The most records with the value of the code in a class of that size."""
        most = floored(self._ratio / self.column.records, (self.column.counts[codes], sizes))
        return np.minimum(most, _most_by_logarithm(self.column, codes, sizes)) if self.model.enhanced else most
