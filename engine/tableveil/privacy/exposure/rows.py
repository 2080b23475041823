"""Coded rows of classes, and those of which judgements leave few rows, or rows of few people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.numeric.threads import one_core
from tableveil.privacy.exposure.cells import Codes, Flags, ValuePairs, counted, ranked, spread, totals
from tableveil.risk.unchanged import MOST_CELLS

AT_ONCE = 1 << 21
"""How many rows are compared at once."""

_MATRIX, _DEAR = 1 << 31, 32
"""The most multiplications of a product of matrices, and how many of them take the time to count one pair."""


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows in the order of their `classes`, numbered from 0.

    `records` is how many records each row stands for, None for one; `people` numbers whose they are, where some people
    have several.
    """

    classes: Codes
    records: Codes | None
    people: Codes | None

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.classes)

    @cached_property
    def rows_of(self) -> Codes:
        """The rows of each class."""
        return np.bincount(self.classes).astype(np.int64)

    @cached_property
    def first(self) -> Codes:
        """The first row of each class, and the end."""
        return np.concatenate([[0], np.cumsum(self.rows_of)])

    @cached_property
    def sizes(self) -> Codes:
        """The records of each class."""
        return totals(self.classes, self.records, len(self.rows_of))

    @cached_property
    def _held(self) -> ValuePairs:
        assert self.people is not None
        return counted(self.classes, self.people, self.records, len(self.sizes), int(self.people.max(initial=0)) + 1)

    @cached_property
    def people_of(self) -> Codes:
        """The people who have records in each class."""
        return self.sizes if self.people is None else self._held.different

    def records_of(self, at: Codes | Flags | slice) -> Codes | None:
        """The records of some rows, None for one each."""
        return None if self.records is None else self.records[at]

    def counted(self, chosen: Flags) -> int:
        """The records of the chosen rows, or the people whose they are."""
        if self.people is not None:
            return len(np.unique(self.people[chosen]))
        return int(chosen.sum() if self.records is None else self.records[chosen].sum())

    @cached_property
    def most(self) -> Codes:
        """The most records of one person in each class."""
        if self.people is None:
            return np.ones(len(self.sizes), np.int64)
        return np.maximum.reduceat(self._held.records, np.cumsum(self.people_of) - self.people_of)


class Judgement(Protocol):
    """The conclusion about the rows of a class, by one column, of somebody who knows a record's own values."""

    @property
    def own(self) -> Codes:
        """Per row a number that equal own values share."""

    def outside(self) -> Codes:
        """Per row, how many records of its class do not fit its own values."""

    def fits(self, mine: Codes, others: Codes) -> Flags:
        """Whether the other rows fit the own values of the rows beside them."""


@dataclass(frozen=True, eq=False)
class HeldValues:
    """A column's values in the rows: a code `value` per row, of so many `values`."""

    rows: ClassRows
    value: Codes
    values: int

    @cached_property
    def cells(self) -> ValuePairs:
        """The records of each class with each value."""
        return counted(self.rows.classes, self.value, self.rows.records, len(self.rows.sizes), self.values)


@dataclass(frozen=True, eq=False)
class ByValues:
    """A judgement by the `pairs` of own values and values that fit: `own` has those of the rows.

    Where an own value is not `given`, every value fits.
    """

    own: Codes
    held: HeldValues
    pairs: ValuePairs
    given: Flags

    def fits(self, mine: Codes, others: Codes) -> Flags:
        """See `Judgement`."""
        own = self.own[mine]
        fits: Flags = (self.pairs.found(own, self.held.value[others]) > 0) | ~self.given[own]
        return fits

    def outside(self) -> Codes:
        """See `Judgement`."""
        classes, sizes, given = self.held.rows.classes, self.held.rows.sizes, self.given
        held, pairs, owns = self.held.cells, self.pairs, len(given)
        own, listed = (codes[given[pairs.own]] for codes in (pairs.own, pairs.value))
        listing = np.bincount(listed, minlength=pairs.values)
        met = int(listing[held.value].sum())
        if len(sizes) * owns * pairs.values <= min(_MATRIX, _DEAR * met):
            # The numbers of a product of matrices are exact.
            exact = np.float32 if int(sizes.max(initial=0)) < 1 << 24 else np.float64
            of_class: NDArray[np.floating[Any]] = np.zeros((held.owns, held.values), exact)
            fitting = np.zeros((held.values, owns), of_class.dtype)
            of_class[held.own, held.value] = held.records
            fitting[listed, own] = 1
            with one_core():
                there = (of_class @ fitting)[classes, self.own].astype(np.int64)
        else:
            own = own[np.argsort(listed, kind="stable")]
            at, cell = spread((np.cumsum(listing) - listing)[held.value], listing[held.value])
            there = counted(held.own[cell], own[at], held.records[cell], len(sizes), owns).found(classes, self.own)
        return np.where(given[self.own], sizes[classes] - there, 0)


def few_left(rows: ClassRows, looked_at: Flags, judgements: Sequence[Judgement], k: int) -> Flags:
    """The rows of which all judgements leave fewer than k records of their class, or such of fewer than k people.

    `looked_at` says of which classes. Beyond `MOST_CELLS` rows to compare, those that are likeliest few are compared.
    """
    outside = sum((judgement.outside() for judgement in judgements), np.zeros(len(rows), np.int64))
    sizes, people = rows.sizes[rows.classes], rows.people_of[rows.classes]
    telling = looked_at[rows.classes] & (outside > 0)
    if rows.people is None and len(judgements) == 1:
        return telling & (sizes - outside < k)
    # A row that does not fit takes away one person at most; and so many rows are of at least as many people as have
    # the most each.
    at_least = np.maximum(people - outside, -(-(sizes - outside) // rows.most[rows.classes]))
    few, chosen = np.zeros(len(rows), np.bool_), np.flatnonzero(telling & (at_least < k))
    if not len(chosen):
        return few
    alike, number = ranked(*(codes[chosen] for codes in (rows.classes, *(each.own for each in judgements))))
    first = np.zeros(number, np.int64)
    first[alike[::-1]] = np.arange(len(chosen))[::-1]
    tried = chosen[first]
    order = np.argsort(at_least[tried], kind="stable")
    found = np.zeros(number, np.bool_)
    for start, mine, group, others in compared(rows, tried[order], MOST_CELLS):
        fit = np.ones(len(others), np.bool_)
        for judgement in judgements:
            fit &= judgement.fits(mine[group], others)
        group, others = group[fit], others[fit]
        if rows.people is None:
            left = totals(group, rows.records_of(others), len(mine))
        else:
            left = counted(group, rows.people[others], None, len(mine), int(rows.people.max()) + 1).different
        found[order[start : start + len(mine)]] = left < k
    few[chosen] = found[alike]
    return few


def compared(rows: ClassRows, chosen: Codes, most_rows: int | None = None) -> Iterator[tuple[int, Codes, Codes, Codes]]:
    """The place of the first of some chosen rows, these, and the rows of their classes, each after the place of one."""
    upto = np.cumsum(rows.rows_of[rows.classes[chosen]])
    start, most = 0, len(chosen) if most_rows is None else int(np.searchsorted(upto, most_rows, side="right"))
    while start < most:
        end = max(start + 1, int(np.searchsorted(upto, (upto[start - 1] if start else 0) + AT_ONCE)))
        mine = chosen[start:end]
        others, group = spread(rows.first[rows.classes[mine]], rows.rows_of[rows.classes[mine]])
        yield start, mine, group, others
        start = end
