"""How many records have an own value together with a value of a column, and how many would have by chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
"""A number per row, from 0."""

DENSE = 1 << 21
"""Up to so many possible pairs are counted in one array; more are sorted."""

_SMALL = 1 << 14


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

    @cached_property
    def first(self) -> Codes:
        """The position of each own value's first pair, and the end."""
        return np.concatenate([[0], np.cumsum(self.different)])

    def under(self, labels: Codes) -> ValuePairs:
        """The pairs of the own values' labels and values."""
        return counted(labels[self.own], self.value, self.records, int(labels.max(initial=0)) + 1, self.values)


def totals(codes: Codes, records: Codes | None, number: int) -> Codes:
    """The records of each code."""
    if records is None:
        return np.bincount(codes, minlength=number).astype(np.int64)
    # Sums of whole numbers below 2^53 are exact.
    return np.bincount(codes, weights=records, minlength=number).astype(np.int64)


def counted(own: Codes, value: Codes, records: Codes | None, owns: int, values: int) -> ValuePairs:
    """Counts the pairs of rows; each row is one record, or as many as `records` says."""
    keys = own * values + value
    if owns * values <= max(DENSE, len(keys)):
        counts = totals(keys, records, owns * values)
        different = np.flatnonzero(counts)
        counts = counts[different]
    elif records is None:
        different, counts = np.unique(keys, return_counts=True)
    else:
        different, place = np.unique(keys, return_inverse=True)
        counts = totals(place, records, len(different))
    return ValuePairs(different // values, different % values, counts.astype(np.int64), owns, values)


def ranked(*codes: Codes) -> tuple[Codes, int]:
    """One code per different combination, and their number."""
    combined, number = np.zeros(len(codes[0]), np.int64), 1
    for code in codes:
        size = int(code.max(initial=0)) + 1
        combined = combined * size + code
        number *= size
        if number > DENSE:
            different, combined = np.unique(combined, return_inverse=True)
            number = len(different)
    if number <= DENSE:
        present = np.zeros(number, np.bool_)
        present[combined] = True
        combined = (np.cumsum(present) - 1)[combined]
        number = int(present.sum())
    return combined.astype(np.int64), number


def spread(first: Codes, sizes: Codes) -> tuple[Codes, Codes]:
    """The positions `first`, `first + 1`, … of groups of these sizes, one after the other, with their groups."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    before = np.cumsum(sizes) - sizes
    return np.arange(len(groups)) - before[groups] + first[groups], groups


# --- chance ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """The different values that chance makes of each own value, if it draws its records among those of its stratum.

    `possible` are the different values of the stratum; `variance` and `power` belong to all own values. `power` is how
    many fewer pairs there would be if each own value were left half of its values: an own value that most records of
    its stratum have cannot be, so it is none.
    """

    expected: NDArray[np.float64]
    possible: Codes
    variance: float
    power: float


def chance(own: Codes, strata: Codes, of_strata: ValuePairs) -> Chance:
    """By the records of the own values, their strata, and the pairs of strata and values.

    Source: hypergeometric probabilities. Own values of as many records of a stratum share their figures, and so do its
    values.
    """
    size, most = of_strata.of_own, int(max(own.max(initial=0), of_strata.records.max(initial=0))) + 1
    groups, of_group = np.unique(strata * most + own, return_inverse=True)
    totals_, times = np.unique(of_strata.own * most + of_strata.records, return_counts=True)
    first = np.searchsorted(totals_, groups // most * most)
    last = np.searchsorted(totals_, (groups // most + 1) * most)
    at, group = spread(first, last - first)
    drawn, total, records = (groups % most)[group], totals_[at] % most, size[groups // most][group]
    present = _present(drawn, total, records)
    halved = np.where(2 * drawn <= records, present - _present(drawn, 2 * total, records) / 2, 0.0)
    often, weight = times[at], np.bincount(of_group, minlength=len(groups))[group]
    expected = np.bincount(group, weights=often * present, minlength=len(groups)).astype(np.float64)
    return Chance(
        expected[of_group],
        of_strata.different[strata],
        float((weight * often * present * (1 - present)).sum()),
        float((weight * often * halved).sum()),
    )


def chance_of_one(own: Codes, total: Codes, size: Codes) -> NDArray[np.float64]:
    """The probability that all `own` of `size` records are among the `total` ones with a value."""
    left = np.maximum(total - own, 0)
    most = _log_factorial(total) - _log_factorial(left) + _log_factorial(size - own) - _log_factorial(size)
    return np.where(own <= total, np.exp(np.minimum(most, 0.0)), 0.0)


def chance_of_any(own: Codes, strata: Codes, of_strata: ValuePairs) -> NDArray[np.float64]:
    """The probability of each own value that all its records have one value, whichever."""
    most = int(max(own.max(initial=0), of_strata.records.max(initial=0))) + 1
    groups, of_group = np.unique(strata * most + own, return_inverse=True)
    totals_, times = np.unique(of_strata.own * most + of_strata.records, return_counts=True)
    # Only values of at least as many records can be that one.
    first: Codes = np.asarray(np.searchsorted(totals_, groups), np.int64)
    last = np.searchsorted(totals_, (groups // most + 1) * most)
    at, group = spread(first, last - first)
    one = chance_of_one((groups % most)[group], totals_[at] % most, of_strata.of_own[groups // most][group])
    return np.bincount(group, weights=times[at] * one, minlength=len(groups)).astype(np.float64)[of_group]


def _present(drawn: Codes, total: Codes, records: Codes) -> NDArray[np.float64]:
    """The probability that some of the `drawn` of `records` are among the `total` ones with a value."""
    others = np.maximum(records - total, 0)
    left = np.maximum(others - drawn, 0)
    absent = np.exp(
        _log_factorial(others) - _log_factorial(left) + _log_factorial(records - drawn) - _log_factorial(records)
    )
    return np.where(others < drawn, 1.0, np.clip(1 - absent, 0.0, 1.0))


_TABLE = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, _SMALL)))])


def _log_factorial(n: Codes) -> NDArray[np.float64]:
    """From a table, beyond it by Stirling's series; scipy takes longer to load than a small release takes."""
    tabled: NDArray[np.float64] = _TABLE[np.minimum(n, _SMALL - 1)]
    if int(n.max(initial=0)) < _SMALL:
        return tabled
    m = np.maximum(n, 1).astype(np.float64)
    series = m * np.log(m) - m + np.log(2 * np.pi * m) / 2 + 1 / (12 * m) - 1 / (360 * m**3)
    return np.where(n < _SMALL, tabled, series)
