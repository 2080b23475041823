"""How many records have an own value together with a value of a column, and whether that is chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tableveil.risk.unchanged import EVIDENCE, MOST_OTHERS, RIGHT, TELLING, WRONG

Codes = NDArray[np.int64]
"""A number per row, from 0."""

Flags = NDArray[np.bool_]

DENSE, SPARSE = 1 << 14, 4
"""Up to so many possible keys, or so many times as many as rows, are counted in one array; more are sorted."""


FEW = 8
"""All numbers are mixed if there are at most so many times as many as are chosen."""


@dataclass(frozen=True, eq=False)
class ValuePairs:
    """The pairs of an `own` value and a `value` that occur, in this order, each with its number of `records`.

    There are `owns` own values and `values` values.
    """

    own: Codes
    value: Codes
    records: Codes
    owns: int
    values: int

    @cached_property
    def keys(self) -> Codes:
        """The pairs, packed: they ascend."""
        return self.own * self.values + self.value

    @cached_property
    def of_own(self) -> Codes:
        """The records with each own value."""
        return totals(self.own, self.records, self.owns)

    @cached_property
    def of_value(self) -> Codes:
        """The records with each value."""
        return totals(self.value, self.records, self.values)

    @cached_property
    def different(self) -> Codes:
        """How many different values each own value has."""
        return np.bincount(self.own, minlength=self.owns).astype(np.int64)

    def found(self, own: Codes, value: Codes) -> Codes:
        """The records of each pair of codes, 0 where there are none."""
        if not len(self.keys):
            return np.zeros(len(own), np.int64)
        wanted = own * self.values + value
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, self.records[at], 0)

    def under(self, labels: Codes) -> ValuePairs:
        """The pairs of the own values' labels and values."""
        return counted(labels[self.own], self.value, self.records, int(labels.max(initial=0)) + 1, self.values)

    def pooled(self, rare: Flags, labels: Codes) -> ValuePairs:
        """The pairs with `rare` own values put together by label: each label is one more own value."""
        owns = self.owns + int(labels.max(initial=0)) + 1
        if not rare.any():
            return replace(self, owns=owns)
        together = np.where(rare, self.owns + labels, np.arange(self.owns))
        return counted(together[self.own], self.value, self.records, owns, self.values)


def totals(codes: Codes, records: Codes | None, number: int) -> Codes:
    """The records of each code."""
    if records is None:
        return np.bincount(codes, minlength=number).astype(np.int64, copy=False)
    # Sums of whole numbers below 2^53 are exact.
    return np.bincount(codes, weights=records, minlength=number).astype(np.int64)


def counted(own: Codes, value: Codes, records: Codes | None, owns: int, values: int) -> ValuePairs:
    """Counts the pairs of rows; each row is one record, or as many as `records` says."""
    # Large arrays are dear to make: the system clears them first.
    keys = own * np.int64(values)
    keys += value
    if owns * values <= max(DENSE, SPARSE * len(keys)):
        counts = totals(keys, records, owns * values)
        different = np.flatnonzero(counts > 0)
        counts = counts[different]
    elif records is None:
        # Small keys are sorted in half the time.
        different, counts = np.unique(keys if owns * values >> 32 else keys.astype(np.uint32), return_counts=True)
        different = different.astype(np.int64)
    else:
        different, place = np.unique(keys, return_inverse=True)
        counts = totals(place, records, len(different))
    mine = different // values
    return ValuePairs(mine, different - mine * values, counts, owns, values)


def counted_once(own: Codes, value: Codes, people: Codes, owns: int, values: int) -> ValuePairs:
    """Counts the pairs of rows, those of one of the people once."""
    first = np.unique(ranked(own, value, people)[0], return_index=True)[1]
    return counted(own[first], value[first], None, owns, values)


def ranked(*codes: Codes) -> tuple[Codes, int]:
    """One code per different combination, and their number."""
    combined, number = np.zeros(len(codes[0]), np.int64), 1
    for code in codes:
        size = int(code.max(initial=0)) + 1
        combined, number = combined * size + code, number * size
        # An array of all possible keys is faster than to sort those of the rows, if these are not far fewer.
        if number > max(DENSE, SPARSE * len(code)):
            combined = np.unique(combined, return_inverse=True)[1]
            number = int(combined.max()) + 1
    present = np.zeros(number, np.bool_)
    present[combined] = True
    rank = np.cumsum(present)
    return rank[combined] - 1, int(rank[-1])


def spread(first: Codes, sizes: Codes) -> tuple[Codes, Codes]:
    """The positions `first`, `first + 1`, … of groups of these sizes, one after the other, with their groups."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    before = np.cumsum(sizes) - sizes
    return np.arange(len(groups)) - before[groups] + first[groups], groups


def sampled(seed: int, numbers: Codes, most: int) -> Codes:
    """So many of the numbers at most, in an order of their own: in the rows, no class comes before the others."""
    random = np.random.default_rng(seed)
    # To choose a few of many is faster than to mix all, but not the same.
    return random.permutation(numbers)[:most] if len(numbers) <= FEW * most else random.choice(numbers, most, False)


# --- evidence -------------------------------------------------------------------------------------------------------


def telling(right: ArrayLike, chance: ArrayLike, number: ArrayLike) -> Flags:
    """Whether `right` is the share of so many records that it is no chance, and tells these from most others.

    `chance` is the share of others for whom the same would be right. The evidence is the Kullback-Leibler divergence.
    """
    right, chance = np.asarray(right, float), np.clip(np.asarray(chance, float), 1e-9, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(right > 0, right * np.log(right / chance), 0.0)
        miss = np.where(right < 1, (1 - right) * np.log((1 - right) / (1 - chance)), 0.0)
    apart = (chance <= TELLING) | (1 - chance >= WRONG * (1 - right)) & (chance < MOST_OTHERS)
    flags: Flags = (right >= RIGHT) & (right > chance) & apart & (number * (hit + miss) >= EVIDENCE)
    return flags


def chance_of_one(own: Codes, total: Codes, size: Codes) -> NDArray[np.float64]:
    """The probability that all `own` of `size` records are among the `total` ones with a value."""
    left = np.maximum(total - own, 0)
    most = _log_factorial(total) - _log_factorial(left) + _log_factorial(size - own) - _log_factorial(size)
    return np.where(own <= total, np.exp(np.minimum(most, 0.0)), 0.0)


def _log_factorial(n: Codes) -> NDArray[np.float64]:
    """By Stirling's series, whose error is below 10⁻⁴; scipy takes longer to load than a small release takes."""
    m = np.maximum(n, 1).astype(np.float64)
    return np.where(n < 2, 0.0, m * np.log(m) - m + np.log(2 * np.pi * m) / 2 + 1 / (12 * m) - 1 / (360 * m**3))
