"""Counts the rows that one quasi-identifier's values leave of a class, by coded rows of all columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tableveil.risk.unchanged import ACCIDENT, EXPECTED, OF_CHANCE
from tableveil.verification.chance import alike, independent
from tableveil.verification.coded import Codes, HeldRows, Records, spans, tally

Flags = NDArray[np.bool_]

GRID = 1 << 20
"""Up to so many pairs of own values and values are all judged at once; of more, those that rows have are."""

RARE, OF_CHANCES = Fraction(str(ACCIDENT)), Fraction(str(OF_CHANCE))


@dataclass(frozen=True, eq=False)
class ClassPeople:
    """Per class of the rows its `size`, its `people`, and the `most` rows of one; None if nobody has several."""

    size: Codes
    people: Codes
    most: Codes

    def least(self, classes: Codes, rows: Codes) -> Codes:
        """The least number of people who so many rows of classes may be of.

        A row takes away one person at most; and so many rows are of at least as many people as have the most each.
        """
        lost, most = self.size[classes] - rows, np.maximum(self.most[classes], 1)
        return np.where(most > 1, np.maximum(self.people[classes] - lost, -(-rows // most)), rows)


@dataclass(frozen=True, slots=True)
class LeftLimits:
    """The least number of rows, or people, that has to be left; and the amount of comparisons for it.

    If more than `most` own values times rows of their class were to be compared, nothing is. Beyond `at_once` of them,
    an even part of the own values is looked at.
    """

    k: int
    most: int
    at_once: int


def least_of_one(
    records: Records,
    held: HeldRows,
    j: int,
    limits: LeftLimits,
    owned: ClassPeople | None,
    held_by: Callable[[Codes], tuple[HeldRows, Codes]],
) -> int | None:
    """The least number of rows, or people, that a quasi-identifier's values leave, if it is below k; None if not.

    None as well if that takes too many comparisons. `held_by` gives the rows of some classes with their people.
    """
    compared, k = _compared(records, held, j, limits), limits.k
    if compared is None:
        return None
    classes, owns = compared
    columns = [_Column(records, j, i, minorities=owned is None) for i in range(len(records.values))]
    columns = [column for column in columns if column.telling(held)]
    # A row may be outside by several columns: at least the others are left.
    rows = np.bincount(held.classes, weights=held.rows, minlength=len(held.numbers)).astype(np.int64)[classes]
    for column in columns:
        rows = rows - _outside(held, column, classes, owns)
    few = np.flatnonzero((rows if owned is None else owned.least(classes, rows)) < k)
    if not len(few):
        return None
    classes, owns = classes[few], owns[few]
    at, pair = _fitting(held, columns, classes, owns)
    rows = np.bincount(pair, weights=held.rows[at], minlength=len(classes)).astype(np.int64)
    least = int(rows.min())
    if owned is not None:
        few = np.flatnonzero((owned.most[classes] > 1) & (owned.least(classes, rows) < k))
        if len(few):
            least = min(least, _people(held_by, columns, held.numbers[classes[few]], owns[few], k))
    return least if least < k else None


def _compared(records: Records, held: HeldRows, j: int, limits: LeftLimits) -> tuple[Codes, Codes] | None:
    """The classes and own values that are compared with each other's rows, where a class has several own values."""
    own, here, number = records.own[j], records.classes >= 0, len(held.numbers)
    of_class, times = records.classes[here], records.times[here]
    keys, _ = tally(of_class * own.number + own.code[here], times, number * own.number)
    classes, owns = keys // own.number, keys % own.number
    different = np.bincount(classes, minlength=number)
    sizes = np.bincount(of_class, weights=times, minlength=number)
    compared = int((sizes * different)[different > 1].sum())
    if not 0 < compared <= limits.most:
        return None
    chosen = (different[classes] > 1) & (own.hashes[owns] % np.uint64(1 + compared // limits.at_once) == 0)
    return (classes[chosen], owns[chosen]) if chosen.any() else None


def _people(
    held_by: Callable[[Codes], tuple[HeldRows, Codes]],
    columns: Sequence[_Column],
    numbers: Codes,
    owns: Codes,
    ceiling: int,
) -> int:
    """The least number of people whose rows of a class fit the own value beside it, up to the ceiling.

    Classes that nobody has rows of, by the source's labels, are judged elsewhere.
    """
    held, people = held_by(np.unique(numbers))
    there = np.isin(numbers, held.numbers)
    if not there.any():
        return ceiling
    classes = np.searchsorted(held.numbers, numbers[there])
    at, pair = _fitting(held, columns, classes, owns[there])
    persons = int(people.max(initial=0)) + 1
    different = np.bincount(np.unique(pair * persons + people[at]) // persons, minlength=len(classes))
    return min(ceiling, int(different.min()))


class _Column:
    """Which values of a column fit the own values of a quasi-identifier.

    A value fits if their pair is no accident, or missing by chance. Chance is nothing to own values whose numbers of
    records are far apart from it.
    """

    def __init__(self, records: Records, j: int, i: int, *, minorities: bool) -> None:
        own, value, self.labels = records.own[j], records.values[i], records.labels[j]
        self.i, self.values = i, value.number + 1
        labels = int(self.labels.max(initial=0)) + 1
        pairs, self.times = tally(own.code * self.values + value.code, records.times, own.number * self.values)
        self.pairs = pairs
        at = pairs // self.values
        self.of_own = np.bincount(at, weights=self.times, minlength=own.number).astype(np.int64)
        self.of_value = np.bincount(pairs % self.values, weights=self.times, minlength=self.values).astype(np.int64)
        self.sizes = np.bincount(self.labels, weights=self.of_own, minlength=labels).astype(np.int64)
        self.under, self.of_label = tally(
            self.labels[at] * self.values + pairs % self.values, self.times, labels * self.values
        )
        seen = np.bincount(at, minlength=own.number)
        nothing = np.zeros(len(self.under), np.int64)
        self.independent, far, single = independent(
            alike(self.labels, self.of_own, seen),
            alike(self.under // self.values, self.of_label, nothing),
            self.sizes,
        )
        orders = np.frexp(np.maximum(self.of_own, 1).astype(np.float64))[1] - 1
        apart = np.isin(orders, far) | ((seen == 1) & np.isin(orders, single))
        self.by_chance = self.independent & ~(apart & minorities)
        self.grid: Flags | None = None
        if own.number * self.values <= GRID:
            everything = np.arange(own.number * self.values)
            self.grid = self.fit(everything // self.values, everything % self.values)

    def telling(self, held: HeldRows) -> bool:
        """Whether a value may not fit an own value."""
        if self.grid is None:
            return True
        others = self.values - 1
        foreign = bool((held.values[self.i] == others).any())
        return not self.grid.reshape(-1, self.values)[:, : others + foreign].all()

    def fit(self, own: Codes, value: Codes) -> Flags:
        """Whether each value fits the own value beside it."""
        if self.grid is not None:
            at_once: Flags = self.grid[own * self.values + value]
            return at_once
        together = _looked_up(self.pairs, self.times, own * self.values + value)
        mine, everybody = self.of_own[own], int(self.of_own.sum())
        often = together * RARE.denominator >= RARE.numerator * mine
        # As floating-point numbers: a warehouse's numbers of records may be too large for others.
        by_chance = OF_CHANCES.numerator * (mine.astype(np.float64) * self.of_value[value])
        often |= OF_CHANCES.denominator * (together.astype(np.float64) * everybody) >= by_chance
        label = self.labels[own]
        under = _looked_up(self.under, self.of_label, label * self.values + value)
        rare = mine.astype(np.float64) * under < EXPECTED * self.sizes[label]
        fit: Flags = np.where(together > 0, often, rare & self.by_chance[own])
        return fit


def _looked_up(keys: Codes, numbers: Codes, wanted: Codes) -> Codes:
    """The numbers of wanted keys, 0 where there are none."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, numbers[place], 0)


def _outside(held: HeldRows, column: _Column, classes: Codes, owns: Codes) -> Codes:
    """How many rows of each class do not fit the own value beside it."""
    of_class, value, rows = held.of(column.i)
    first = np.searchsorted(of_class, classes)
    at, pair = spans(first, np.searchsorted(of_class, classes, side="right") - first)
    outside = ~column.fit(owns[pair], value[at])
    return np.bincount(pair[outside], weights=rows[at[outside]], minlength=len(classes)).astype(np.int64)


def _fitting(held: HeldRows, columns: Sequence[_Column], classes: Codes, owns: Codes) -> tuple[Codes, Codes]:
    """The rows of each class that fit the own value beside it in every column, and the place of both."""
    first = np.searchsorted(held.classes, classes)
    at, pair = spans(first, np.searchsorted(held.classes, classes, side="right") - first)
    for column in columns:
        fit = column.fit(owns[pair], held.values[column.i][at])
        at, pair = at[fit], pair[fit]
    return at, pair
