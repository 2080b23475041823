"""The common part of all distances between the distributions of classes, merged classes, and equal distance."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, SensitiveColumn

LARGEST = 2**63 - 1

EFFORT = 1 << 24
"""The most values that are looked at in the search for the least size of a class."""

ROUNDED_UP = 1 + 1e-12
"""Makes up for the rounding errors of a few float operations."""

Integers = NDArray[Any]
"""Whole numbers: 64-bit where all of them fit, else Python's own."""

Shares = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Per class a and b such that the distance is (a/n - b/N) / `unit`."""


@dataclass(frozen=True, slots=True, eq=False)
class Distributions:
    """One or more distributions of a column's values, sparse: `values.classes` numbers them, `sizes` has their records.

    `complete` means that there is only one, and it has every value, so that a value's entry is its code.
    """

    values: ClassValues
    sizes: NDArray[np.int64]
    complete: bool = False

    @classmethod
    def whole(cls, counts: NDArray[np.int64]) -> Distributions:
        """The one distribution of all records, with `counts` per code."""
        codes = np.arange(len(counts), dtype=np.intp)
        return cls(ClassValues(np.zeros_like(codes), codes, counts), np.array([counts.sum()], np.int64), complete=True)

    def entries(self, of: NDArray[np.intp], codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """The entry of value `codes[i]` in distribution `of[i]`; the value must occur in it."""
        if self.complete:
            return codes
        width = int(self.values.values.max(initial=0)) + 1
        keys = self.values.classes * width + self.values.values
        return np.searchsorted(keys, of * width + codes).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedClasses:
    """Classes by their values; per class its number of records, its distribution `of`, and that one's records.

    `starts` has the first entry of each class, as `np.add.reduceat` needs it.
    """

    values: ClassValues
    starts: NDArray[np.intp]
    sizes: NDArray[np.int64]
    of: NDArray[np.intp]
    records: NDArray[np.int64]

    def selected(self, mask: NDArray[np.bool_]) -> ComparedClasses:
        """The classes of the mask."""
        values = self.values
        within = np.flatnonzero(mask[values.classes])
        number = np.cumsum(mask) - 1
        chosen = ClassValues(number[values.classes[within]], values.values[within], values.counts[within])
        return ComparedClasses(chosen, chosen.starts, self.sizes[mask], self.of[mask], self.records[mask])

    def sums(self, entries: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per class the sum over its entries."""
        return np.add.reduceat(entries, self.starts) if len(entries) else entries


class EarthMover(ABC):
    """The earth mover's distance of classes from given distributions, for one ground distance, in whole numbers.

    The distance of a class of n records from a distribution of N records is `work` / (n * N * `unit`). Ground distances
    are at most 1, so work is at most n * N * `unit`. A class has only values that its distribution has.
    """

    def __init__(self, column: SensitiveColumn, distributions: Distributions) -> None:
        self.column = column
        self.distributions = distributions

    @property
    @abstractmethod
    def unit(self) -> int:
        """The value of the largest ground distance, in units."""

    def against(
        self, values: ClassValues, sizes: NDArray[np.int64], of: NDArray[np.intp] | None = None
    ) -> ComparedClasses:
        """Compares each class with distribution `of[i]`, or with the only one if `of` is not given."""
        of = np.zeros(len(sizes), np.intp) if of is None else of
        return ComparedClasses(values, values.starts, sizes, of, self.distributions.sizes[of])

    def work(self, compared: ComparedClasses) -> Integers:
        """Per class the mass to be moved times its way, in units of 1 / (n * N * `unit`)."""
        return difference(compared, self.shares(compared), self.unit)

    @abstractmethod
    def shares(self, compared: ComparedClasses) -> Shares:
        """Per class a and b such that the distance is (a/n - b/N) / `unit`.

        They stay below records times number of values: only their products with n and N can exceed 64 bits.
        """

    @abstractmethod
    def sides(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The classes' records on each side that the distance sums over; classes have all values, one class per row.

        The distance is the sum over all sides of the excess of the class's shares over the others', divided by `unit`.
        """

    def within(self, compared: ComparedClasses, t: Fraction) -> NDArray[np.bool_]:
        """Per class, whether its distance is at most t."""
        return np.asarray(self.work(compared) <= self.most(compared, t), np.bool_)

    def holds(self, compared: ComparedClasses, shares: Shares, t: Fraction) -> NDArray[np.bool_]:
        """Whether each distance is at most t, computed from the shares."""
        return np.asarray(difference(compared, shares, self.unit) <= self.most(compared, t), np.bool_)

    def most(self, compared: ComparedClasses, t: Fraction) -> Integers:
        """Per class the most work within a distance of t."""
        return multiples(products(compared.sizes, compared.records), t * self.unit)

    def largest_part(self, compared: ComparedClasses, shares: Shares, t: Fraction) -> NDArray[np.int64]:
        """Per class, an upper bound of the number of records in a part that is within t, computed from the shares.

        For each threshold that the distance sums over (a value, a group, a step), let the class have a and n - a
        records on the two sides. A part of s records has at most min(a, s F / N) + min(n - a, s (N - F) / N) of them on
        the sides where they belong, and that sum has to be (1 - t) s. As a function of s the sum is concave. So its
        tangent at s = n is above it, and meets (1 - t) s no earlier than it does.
        """
        own, others = shares
        sizes, unit = compared.sizes, self.unit
        failing = np.flatnonzero(~self.holds(compared, shares, t))
        parts = sizes.copy()
        kept = (1 - t) * unit
        share = products(compared.records[failing], np.ones(1, np.int64), kept.numerator)
        slope = share - products(others[failing], np.ones(1, np.int64), kept.denominator)
        inside = (unit * sizes[failing] - own[failing]).astype(np.float64)
        tangent = inside * kept.denominator * compared.records[failing] / slope.astype(np.float64)
        parts[failing] = np.minimum(sizes[failing], np.floor(tangent * ROUNDED_UP).astype(np.int64))
        return parts

    def smallest(self, t: Fraction) -> int:
        """The least number of records of which some can be within t of the whole; no class of fewer records is.

        The search stops early where it would take long: then classes of the returned size may not be within t either.
        """
        whole = int(self.distributions.sizes[0])
        size = self.fewest(t)
        for _ in range(max(EFFORT // len(self.column.counts), 1)):
            if self.least_work(size) <= t * size * whole * self.unit:
                break
            size += 1
        return size

    def fewest(self, t: Fraction) -> int:
        """A lower bound of the number of records in classes within t."""
        return 1

    @abstractmethod
    def least_work(self, size: int) -> int:
        """A lower bound of the work of classes of so many records, against the whole."""

    def distances(self, compared: ComparedClasses) -> NDArray[np.float64]:
        """Per class its distance, from 0 to 1."""
        whole = products(compared.sizes, compared.records, self.unit)
        return np.asarray(self.work(compared) / whole, np.float64)


def products(left: Integers, right: Integers, factor: int = 1) -> Integers:
    """The products times the factor, exactly; no number is negative."""
    # A factor may be too large for any array, whatever the numbers are.
    if max(_most(left), 1) * max(_most(right), 1) * factor > LARGEST:
        left, right = left.astype(object), right.astype(object)
    result: Integers = left * right * factor
    return result


def multiples(numbers: Integers, factor: Fraction) -> Integers:
    """The integer part of each number times the factor, exactly; no number is negative."""
    whole, rest = divmod(factor.numerator, factor.denominator)
    if max(_most(numbers), 1) * max(whole + 1, factor.denominator) > LARGEST:
        numbers = numbers.astype(object)
    result: Integers = numbers * whole + numbers * rest // factor.denominator
    return result


def difference(compared: ComparedClasses, shares: Shares, unit: int) -> Integers:
    """N * own - n * others, which is at most n * N * unit, exactly."""
    (own, others), sizes, records = shares, compared.sizes, compared.records
    if _most(sizes) * _most(records) * unit > LARGEST:
        sizes, records = sizes.astype(object), records.astype(object)
    # If either product alone exceeds 64 bits, it wraps around: the difference fits and is still correct.
    result: Integers = records * own - sizes * others
    return result


def overshoot(counts: NDArray[np.int64], size: int) -> int:
    """The least total excess of `size` records over the shares `counts` / N, summed over all values, times N.

    No value gets less than the integer part of its share. Each remaining record goes to a value that is closest to its
    next whole record.
    """
    whole = int(counts.sum())
    rests = counts * size % whole
    more = int(rests.sum()) // whole
    return more * whole - int(np.partition(rests, len(rests) - more)[len(rests) - more :].sum()) if more else 0


def _most(numbers: Integers) -> int:
    return int(numbers.max(initial=0))


class EqualDistance(EarthMover):
    """Half the sum of |q - p| over all values (Li et al. 2007, section 5.1), which is the sum of q's excess over p.

    Only values that occur in the class can have an excess, so the others need not be looked at.
    """

    @property
    def unit(self) -> int:
        """Only the distances 0 and 1 occur."""
        return 1

    def shares(self, compared: ComparedClasses) -> Shares:
        """The records of values above their share, in the class and in its distribution."""
        return above(compared, self.distributions)

    def sides(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each value is a side."""
        return table

    def fewest(self, t: Fraction) -> int:
        """As many records as needed for their values to hold 1 - t of all: the excess of fewer is too large."""
        largest = np.cumsum(np.sort(self.column.counts)[::-1])
        return int(np.searchsorted(largest, math.ceil((1 - t) * int(largest[-1])))) + 1

    def least_work(self, size: int) -> int:
        """The excess if every value has one of the two whole numbers of records next to its share."""
        return overshoot(self.column.counts, size)


def above(compared: ComparedClasses, distributions: Distributions) -> Shares:
    """Per class, the records of values with a larger share than in its distribution: in the class and there."""
    values, number = compared.values, compared.values.classes
    counts = distributions.values.counts[distributions.entries(compared.of[number], values.values)]
    more = np.asarray(
        products(values.counts, compared.records[number]) > products(counts, compared.sizes[number]), np.bool_
    )
    return compared.sums(values.counts * more), compared.sums(counts * more)


DENSE = 8
"""Up to this number of class-value pairs per entry, a table of all pairs is faster than sorting the entries."""


def merged(
    classes: NDArray[np.intp], values: NDArray[np.intp], counts: NDArray[np.int64], shape: tuple[int, int]
) -> ClassValues:
    """One entry per occurring class and value, in order, made from entries that may repeat and come in any order.

    `shape` is the number of classes and the number of values.
    """
    number, width = shape
    keys = classes * width + values
    if number * width <= DENSE * len(keys):
        totals = np.zeros(number * width, np.int64)
        np.add.at(totals, keys, counts)
        occurring = np.flatnonzero(totals)
        totals = totals[occurring]
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        occurring, totals = keys[first], np.add.reduceat(counts[order], first) if len(first) else counts
    rows, codes = np.divmod(occurring, max(width, 1))
    return ClassValues(rows.astype(np.intp), codes.astype(np.intp), totals)
