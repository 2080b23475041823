"""Counts the rows that one quasi-identifier's values leave of a class, by coded rows, and looks for copies of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.risk.unchanged import EVIDENCE, SHARED, TELLING
from tableveil.verification.coded import Codes, Hashed, HeldRows, Records, spans, tally

Flags = NDArray[np.bool_]

SURELY, FEWER, MORE, TINY = 0.95, 0.9 * TELLING, 5.0, 1e-9
"""The least share of right records, the largest of others, and how much more evidence there has to be."""


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
    """The least number of rows, or people, that has to be left by the first columns; the amount of comparisons for it.

    If more than `most` own values times rows of their class were to be compared, nothing is. Beyond `at_once` of them,
    an even part of the own values is looked at.
    """

    k: int
    columns: int
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
    columns = [column for i in range(limits.columns) if (column := _Column(records, j, i)).telling()]
    compared, k = _compared(records, held, j, limits) if columns else None, limits.k
    if compared is None:
        return None
    classes, owns = compared
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


def follows(records: Records, j: int, i: int) -> bool:
    """Whether values of a column follow from a quasi-identifier, beyond doubt."""
    return _Column(records, j, i).telling()


def share_among_few(records: Records, held: HeldRows, j: int, i: int, limits: LeftLimits) -> float:
    """The share of the people of whose class a quasi-identifier's values leave fewer than k rows by a column alone."""
    column = _Column(records, j, i)
    compared = _compared(records, held, j, limits) if column.telling() else None
    if compared is None:
        return 0.0
    classes, owns = compared
    rows = np.bincount(held.classes, weights=held.rows, minlength=len(held.numbers)).astype(np.int64)[classes]
    few = rows - _outside(held, column, classes, owns) < limits.k
    own, here = records.own[j], records.classes >= 0
    at = here & np.isin(records.classes * own.number + own.code, (classes * own.number + owns)[few])
    if records.people is not None:
        return len(np.unique(records.people[at])) / max(len(np.unique(records.people[here])), 1)
    return float(records.times[at].sum()) / max(float(records.times[here].sum()), 1.0)


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
    """Which values of a column fit the own values of a quasi-identifier: all, or those that others have with it.

    Own values of about as many people are judged together: nearly everybody has a value that somebody else with the own
    value has, and clearly less than half of the others under the label have one of these.
    """

    def __init__(self, records: Records, j: int, i: int) -> None:
        own, value, labels = records.own[j], records.values[i], records.labels[j]
        self.i, self.values = i, value.number + 1
        keys = own.code * self.values + value.code
        pairs, people = records.people_of(keys, own.number * self.values)
        self.pairs = pairs
        alone = np.bincount(pairs // self.values, weights=people, minlength=own.number) == 1
        # A person alone with an own value shows nothing: the release judges them all as one own value of each label.
        under_label = np.arange(int(labels.max(initial=0)) + 1)
        judged_as = np.where(alone, own.number + labels, np.arange(own.number))
        labels, number = np.concatenate([labels, under_label]), own.number + len(under_label)
        pairs, people = tally(
            judged_as[pairs // self.values] * self.values + pairs % self.values, people, number * self.values
        )
        mine = pairs // self.values
        of_own = np.bincount(mine, weights=people, minlength=number)
        right = np.bincount(mine, weights=np.where(people > 1, people, 0), minlength=number)
        of_label = np.bincount(labels, weights=of_own)
        under, numbers = tally(labels[mine] * self.values + pairs % self.values, people, len(of_label) * self.values)
        others = _looked_up(under, numbers, labels[mine] * self.values + pairs % self.values) - people
        rest = of_label[labels] - of_own
        fitting = np.bincount(mine, weights=others, minlength=number) / np.maximum(rest, 1)
        tried = np.where((of_own > 1) & (rest > 0), of_own, 0)
        order = np.frexp(np.maximum(of_own, 1))[1]
        together = np.bincount(order, weights=tried)
        shares = (right / np.maximum(of_own, 1), fitting)
        right, others = (np.bincount(order, weights=tried * each) / np.maximum(together, 1) for each in shares)
        self.given: Flags = (sure(right, others, together)[order] & (tried > 0))[: own.number]

    def telling(self) -> bool:
        """Whether a value may not fit an own value."""
        return bool(self.given.any())

    def fit(self, own: Codes, value: Codes) -> Flags:
        """Whether each value fits the own value beside it."""
        there = _looked_up(self.pairs, np.ones(len(self.pairs), np.int64), own * self.values + value) > 0
        return there | ~self.given[own]


def sure(right: NDArray[np.float64], others: NDArray[np.float64], number: NDArray[Any]) -> Flags:
    """Whether a rule holds beyond doubt: clearly surer than the release itself asks for."""
    by_chance = number * right * np.log(np.maximum(right, TINY) / np.maximum(others, TINY))
    flags: Flags = (right >= SURELY) & (others <= FEWER) & (by_chance >= EVIDENCE + MORE)
    return flags


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


def determines(records: Records, j: int, i: int) -> bool:
    """Whether people with one value of a column agree in what a label hides of a quasi-identifier, beyond doubt."""
    own, value = records.own[j], records.values[i]
    group = Hashed(records.finer[j][own.code], np.unique(records.finer[j]))
    label = np.zeros(group.number, np.int64)
    label[records.finer[j]] = records.labels[j]
    if records.people is None:
        # No more can agree than the largest group has.
        most = np.bincount(group.code, weights=records.times).max(initial=1)
        sizes = np.bincount(value.code, weights=records.times)
        sizes = sizes[sizes > 1]
        if (sizes * np.minimum((most - 1) / (sizes - 1), 1)).sum() < (SURELY - TINY) * sizes.sum():
            return False
    keys, people = records.people_of(value.code * group.number + group.code, value.number * group.number)
    of_value = np.bincount(keys // group.number, weights=people)
    shared = of_value[keys // group.number] > 1
    tried, others = people[shared], of_value[keys[shared] // group.number] - 1
    if tried.sum() < 2 * SHARED * people.sum():
        return False
    right = (tried * (tried - 1) / others).sum() / tried.sum()
    of_group = np.bincount(keys % group.number, weights=people, minlength=group.number)
    of_label = np.bincount(label, weights=of_group)[label]
    agreeing = np.where(of_label > 1, of_group * (of_group - 1) / np.maximum(of_label - 1, 1), 0).sum()
    chance = agreeing / max(of_group[of_label > 1].sum(), 1)
    number = tried.sum() - len(np.unique(keys[shared] // group.number))
    return bool(sure(np.array([right]), np.array([chance]), np.array([number]))[0])
