"""t-closeness where cells are lists: the share of each element in a class is close to its share in the whole table.

An element is a value of its own, which a record has or lacks: the distance is the largest difference of two shares. So
is having no element at all, since that nobody in a class has any would be learned as well.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, ListedElements, SensitiveColumn
from tableveil.policy import TCloseness
from tableveil.privacy.closeness import TClosenessRule
from tableveil.privacy.column_rule import ColumnRule, lowest_for, smallest_size, spelled
from tableveil.privacy.distances.model import ROUNDED_UP, Integers, multiples, products
from tableveil.privacy.model import Facts, ReleaseRule

_SLACK = 1e-9
"""Makes up for rounding errors: a size that is barely impossible counts as possible."""

_ROUNDING = 1e-15
"""No less than the rounding error of a few shares."""


def closeness_rule(model: TCloseness, facts: Facts) -> ReleaseRule:
    """The rule of elements if the column's cells are lists, else that of values."""
    lists = facts.sensitive(model.column)[1].elements is not None
    return TClosenessOfElementsRule(model, facts) if lists else TClosenessRule(model, facts)


class _Compared:
    """Classes by their elements, beside the source: its numbers of records are exact."""

    def __init__(self, values: ClassValues, column: SensitiveColumn) -> None:
        assert column.elements is not None, "the cells are lists"
        elements = column.elements
        self.spread = elements.spread(values)
        self.starts = self.spread.starts
        self.sizes = np.add.reduceat(values.counts, values.starts)
        self.records = column.records
        self.of_source = elements.counts[self.spread.values]
        # Elements are numbered from the most frequent: a class has all up to the first that it lacks.
        place = np.arange(len(self.spread.values)) - self.starts[self.spread.classes]
        self.first_lacking = np.add.reduceat((place == self.spread.values).astype(np.int64), self.starts)
        self.of_lacking = np.append(elements.counts, 0)[self.first_lacking]

    @property
    def work(self) -> Integers:
        """Per class the largest difference of shares, times its records and those of the source."""
        sizes = self.sizes[self.spread.classes]
        here, there = products(self.spread.counts, _of(self.records)), products(self.of_source, sizes)
        having = np.maximum.reduceat(np.abs(here - there), self.starts)
        return np.maximum(having, products(self.of_lacking, self.sizes))

    def most(self, t: Fraction) -> Integers:
        """Per class the most work within t."""
        return multiples(products(self.sizes, _of(self.records)), t)

    def largest_part(self, t: float) -> NDArray[np.int64]:
        """Per class, an upper bound of the number of records in a part that is within t.

        A part of s records lacks at most n - a of those that an element needs to be missing, and has at most a: so
        s (1 - p - t) <= n - a, and s (p - t) <= a.
        """
        share, sizes = self.of_source / self.records, self.sizes[self.spread.classes]
        lacking, having = sizes - self.spread.counts, self.spread.counts
        bounds = np.minimum(_quotient(lacking, 1 - share - t), _quotient(having, share - t))
        parts = np.minimum.reduceat(bounds, self.starts)
        parts = np.where(self.of_lacking / self.records - t > _SLACK, 0.0, parts)
        return np.minimum(self.sizes, np.floor(np.minimum(parts, self.sizes) * ROUNDED_UP).astype(np.int64))


def _of(records: int) -> NDArray[np.int64]:
    return np.array([records], np.int64)


def _quotient(records: NDArray[np.int64], slope: NDArray[np.float64]) -> NDArray[np.float64]:
    """Records / slope, no less; infinite where the slope is hardly above 0."""
    return np.divide(records, slope - _ROUNDING, out=np.full(len(records), np.inf), where=slope > _SLACK)


def distances_of_elements(values: ClassValues, column: SensitiveColumn) -> NDArray[np.float64]:
    """Per class the largest difference between an element's shares in it and in the whole source."""
    compared = _Compared(values, column)
    whole = products(compared.sizes, _of(compared.records))
    return np.asarray(compared.work / whole, np.float64)


@dataclass(frozen=True)
class TClosenessOfElementsRule(ColumnRule[TCloseness]):
    """Classes in which every element's share is at most t away from that in the source may be released.

    Monotone, since a share in a union of classes lies between those in the parts. For the same reason the released part
    of a class at finer transformations is within t as a whole.
    """

    @property
    def elements(self) -> ListedElements:
        """The elements of the column."""
        assert self.column.elements is not None, "the cells are lists"
        return self.column.elements

    @cached_property
    def minimum_class_size(self) -> int:
        """The least number of records of which some whole number is within t of each element's share."""
        shares, t = self.elements.counts / self.column.records, float(self.model.t)

        def possible(size: int) -> bool:
            least, most = np.ceil((shares - t) * size - _SLACK), np.floor((shares + t) * size + _SLACK)
            return bool((least <= most).all())

        return smallest_size(1, possible)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes within t, decided in whole numbers."""
        compared = _Compared(self.values(classes), self.column)
        return np.asarray(compared.work <= compared.most(Fraction(self.model.t)), np.bool_)

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """The records that must be left out of a class for the rest to be within t, whichever records the rest has."""
        return classes.counts - _Compared(self.values(classes), self.column).largest_part(float(self.model.t))

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """The smallest t; 1 promises nothing."""
        reached = lowest_for(distances_of_elements(self.values(classes), self.column), classes.counts, suppressible)
        t = self.offered("t", reached, 1, classes, suppressible)
        return spelled("t", t) if t is not None and t < 1 else None
