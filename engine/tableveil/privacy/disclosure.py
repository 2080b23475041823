"""delta-disclosure privacy: a value's share in a class differs from its share in the source by less than 2**delta.

NULL is a value like any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, SensitiveColumn
from tableveil.policy import AbsentValues, DeltaDisclosure
from tableveil.privacy.column_rule import ColumnRule, excess, lowest_for, smallest_size, spelled
from tableveil.privacy.exact import Factor, below, floored
from tableveil.privacy.model import Facts

_DIGITS = Context(prec=50)


def delta(values: ClassValues, column: SensitiveColumn, absent: AbsentValues) -> NDArray[np.float64]:
    """Per class the largest |log2(share in the class / share in the source)|: delta-disclosure needs a larger delta.

    Infinite where a value of the source is absent, unless absent values are ignored. Source: Brickell and Shmatikov
    2008.
    """
    sizes = np.add.reduceat(values.counts, values.starts)[values.classes].astype(np.float64)
    ratio = values.counts.astype(np.float64) * column.records / (sizes * column.counts[values.values])
    reached = np.maximum.reduceat(np.abs(np.log2(ratio)), values.starts)
    if absent is AbsentValues.IGNORE:
        return reached
    return np.where(_number_of_values(values) == len(column.counts), reached, np.inf)


def _number_of_values(values: ClassValues) -> NDArray[np.intp]:
    return np.diff(values.starts, append=len(values.counts))


def delta_disclosure_rule(model: DeltaDisclosure, facts: Facts) -> PresentDisclosureRule:
    """The rule for the model's treatment of absent values."""
    if model.absent_values is AbsentValues.IGNORE:
        return PresentDisclosureRule(model, facts)
    return DeltaDisclosureRule(model, facts)


@dataclass(frozen=True)
class PresentDisclosureRule(ColumnRule[DeltaDisclosure]):
    """Classes where |log2(q/p)| < delta for all values that are present may be released, as in ARX.

    It is not monotone: parts without a value make its share in the class smaller.

    Too large shares are inherited: in the released parts of a class together, a value has less than the share p
    2**delta of their records, which are at most those of the class. The records beyond that are lost.
    """

    monotone = False

    @cached_property
    def minimum_class_size(self) -> int:
        """The smallest size at which some value may have enough records.

        One record with a value needs a class of more than 1/(p 2**delta) records; this is least for the most frequent
        value.
        """
        codes = np.arange(len(self.column.counts))
        start = self._above(int(self.column.counts.max(initial=1)))

        def possible(size: int) -> bool:
            least, most = self._least(codes, size), self._most(codes, size)
            return int(most[least <= most].sum()) >= size

        return smallest_size(start, possible)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes with no value too rare and none too frequent; both limits are excluded."""
        values = self.values(classes)
        sizes = classes.counts[values.classes]
        fine = values.counts <= self._most(values.values, sizes)
        fine &= values.counts >= self._least(values.values, sizes)
        return np.logical_and.reduceat(fine, values.starts)

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """The records that make a value too frequent."""
        values = self.values(classes)
        return excess(values, self._most(values.values, classes.counts[values.classes]))

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the smallest delta."""
        reached = delta(self.values(classes), self.column, self.model.absent_values)
        lowest = lowest_for(reached, classes.counts, suppressible)
        return spelled("delta", self.offered("delta", lowest, 1, classes, suppressible))

    def _above(self, count: int) -> int:
        """The smallest class that may hold a value with so many records in the source: above 1/(p 2**delta)."""
        return math.floor(self.column.records / (count * self._ratio)) + 1

    @cached_property
    def _ratio(self) -> Fraction:
        """2**delta: exact if delta is a whole number; if not, it is irrational, and q/p never equals it."""
        ratio = _DIGITS.power(2, min(self.model.delta, Decimal(64)))
        # Enough digits to differ from 1; and no q/p is above N or below 1/N, so that a larger ratio demands nothing.
        return min(Fraction(max(ratio, 1 + Decimal("1e-25"))), Fraction(self.column.records + 1))

    def _most(self, codes: NDArray[np.intp], sizes: Factor) -> NDArray[np.int64]:
        """The most records with the value of the code in a class of that size: below n p 2**delta."""
        return below(self._ratio / self.column.records, (self.column.counts[codes], sizes))

    def _least(self, codes: NDArray[np.intp], sizes: Factor) -> NDArray[np.int64]:
        """The fewest records: above n p / 2**delta."""
        return floored(1 / (self._ratio * self.column.records), (self.column.counts[codes], sizes)) + 1


@dataclass(frozen=True)
class DeltaDisclosureRule(PresentDisclosureRule):
    """Classes where |log2(q/p)| < delta for all values of the source may be released (Brickell and Shmatikov 2008).

    A class that lacks a value fails. Monotone: the share of a value in a class lies between its shares in the parts.
    For the same reason, the released parts of a class together meet the model: a value with f records in the class has
    more than the share p / 2**delta of them, so that they are fewer than f 2**delta / p. The rest is lost; if a class
    lacks a value, all of it is lost.
    """

    monotone = True

    @cached_property
    def minimum_class_size(self) -> int:
        """The smallest size at which all values can have an allowed number of records.

        Every class has the rarest value, which needs more than 1/(p 2**delta) records, and each value needs one.
        """
        values = len(self.column.counts)
        codes = np.arange(values)
        for_rarest = self._above(int(self.column.counts.min()) if values else 1)

        def possible(size: int) -> bool:
            least, most = self._least(codes, size), self._most(codes, size)
            return bool((least <= most).all()) and int(least.sum()) <= size <= int(most.sum())

        return smallest_size(max(for_rarest, values), possible)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes that have all values, none too rare and none too frequent."""
        complete = _number_of_values(self.values(classes)) == len(self.column.counts)
        whole: NDArray[np.bool_] = complete & super().releasable(classes)
        return whole

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """The records that make some value too rare, or their own value too frequent."""
        values = self.values(classes)
        each = below(self._ratio * self.column.records, (values.counts,), self.column.counts[values.values])
        complete = _number_of_values(values) == len(self.column.counts)
        together = np.where(complete, np.minimum.reduceat(each, values.starts), 0)
        return np.maximum(classes.counts - together, super().lost(classes))
