"""Published ways to check ordered t-closeness, and to group values, as fast as numpy lets them be; for comparison only.

Source: Bild, Eicher and Prasser 2020, Efficient protection of health data from sensitive attribute disclosure, Studies
in Health Technology and Informatics 270.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.policy import TCloseness
from tableveil.privacy import Facts
from tableveil.privacy.closeness import TClosenessRule
from tableveil.privacy.distances import ComparedClasses, Distributions, OrderedDistance

Keys = NDArray[np.int64]

CELLS = 1 << 18
"""Numbers in a block of classes by values: so many fit into a core's second cache, or nearly."""

FEW = 32
"""Up to this number of values, going value by value, for many classes at once, is faster than going class by class."""

CHUNK, CHUNKS = 64, 8
"""Values after which classes that are past the threshold are put aside, and how often: the published way stops at once.
"""


@dataclass(frozen=True, slots=True)
class _Sums:
    """The whole source, and the most work that t allows per class."""

    whole: int
    cumulative: NDArray[np.int64]
    prefix: NDArray[np.int64]


class OverAllValues(OrderedDistance):
    """The straightforward sum: for any class, all values are gone through."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        counts = self._in_order(self.distributions.values, self.distributions.values.starts).counts
        cumulative = np.cumsum(counts)
        self._sums = _Sums(int(cumulative[-1]), cumulative, np.append(0, np.cumsum(cumulative)))

    def within(self, compared: ComparedClasses, t: Fraction) -> NDArray[np.bool_]:
        """The classes whose sum is not above the threshold."""
        if len(self.column.counts) <= FEW:
            return np.asarray(self._by_all_values(compared) <= self.most(compared, t), np.bool_)
        ordered = _in_order(self, compared)
        return self._summed(ordered, np.arange(len(ordered.sizes)), self.most(compared, t), None)

    def _summed(
        self,
        compared: ComparedClasses,
        order: NDArray[np.intp],
        most: NDArray[np.int64],
        first: NDArray[np.intp] | None,
    ) -> NDArray[np.bool_]:
        """Sums in blocks of classes of this order; if `first` has their first values, from the block's first on."""
        values, sums, width = compared.values, self._sums, len(self.column.counts) - 1
        starts = np.append(compared.starts, len(values.classes))
        kept = np.zeros(len(compared.sizes), np.bool_)
        for low, high, begin in _blocks(order, width, first):
            block = order[low:high]
            lengths = starts[block + 1] - starts[block]
            entries = np.repeat(starts[block] - np.append(0, np.cumsum(lengths)[:-1]), lengths) + np.arange(
                lengths.sum()
            )
            ranks = values.values[entries] - begin
            table = np.zeros((len(block), width + 1 - begin), np.int64)
            table[np.repeat(np.arange(len(block)), lengths), ranks] = values.counts[entries]
            done = compared.sizes[block] * sums.prefix[begin]
            carried = np.zeros(len(block), np.int64)
            step = width + 1 if first is None else max((width - begin) // CHUNKS + 1, CHUNK)
            for at in range(0, width - begin, step):
                part = table[:, at : min(at + step, width - begin)]
                part[:, 0] += carried
                np.cumsum(part, axis=1, out=part)
                carried = part[:, -1].copy()
                part *= sums.whole
                part -= compared.sizes[block][:, None] * sums.cumulative[begin + at : begin + at + part.shape[1]]
                done += np.abs(part, out=part).sum(axis=1)
                if first is not None:
                    alive = done <= most[block]
                    if np.count_nonzero(alive) < len(alive) // 2:
                        block, table, done, carried = block[alive], table[alive], done[alive], carried[alive]
                        if not len(block):
                            break
            kept[block] = done <= most[block]
        return kept


class CheckPruning(OverAllValues):
    """Rejects a class whose first value is past the one at which the missing sum exceeds the threshold."""

    def within(self, compared: ComparedClasses, t: Fraction) -> NDArray[np.bool_]:
        """The sum for the remaining classes."""
        ordered, cutoff = _in_order(self, compared), self._cutoff(t)
        possible = ordered.values.values[ordered.starts] <= cutoff
        if possible.all():
            return super().within(compared, t)
        possible[possible] = super().within(compared.selected(possible), t)
        return possible

    def _cutoff(self, t: Fraction) -> int:
        """The last value that may be the first of a class."""
        most = t * self.unit * self._sums.whole
        return int(np.searchsorted(self._sums.prefix, int(most), "right")) - 1


class SummandPruning(CheckPruning):
    """Also starts at the first value of a class, from the partial sum before it, and stops past the threshold."""

    def within(self, compared: ComparedClasses, t: Fraction) -> NDArray[np.bool_]:
        """Classes that start at about the same value are summed together."""
        if len(self.column.counts) <= FEW:
            return super().within(compared, t)
        ordered, most = _in_order(self, compared), self.most(compared, t)
        first = ordered.values.values[ordered.starts]
        chosen = np.flatnonzero(first <= self._cutoff(t))
        return self._summed(ordered, chosen[np.argsort(first[chosen], kind="stable")], most, first)


def _in_order(distance: OrderedDistance, compared: ComparedClasses) -> ComparedClasses:
    values = distance._in_order(compared.values, compared.starts)
    return ComparedClasses(values, compared.starts, compared.sizes, compared.of, compared.records)


def _blocks(order: NDArray[np.intp], width: int, first: NDArray[np.intp] | None) -> Iterator[tuple[int, int, int]]:
    """The blocks' begin and end in the order, and the value that all of a block's classes start at or after."""
    low = 0
    while low < len(order):
        begin = 0 if first is None else int(first[order[low]])
        high = min(low + max(CELLS // max(width - begin, 1), 1), len(order))
        yield low, high, begin
        low = high


# --- rules that declare nothing to the search ------------------------------------------------------------------------


@dataclass(frozen=True)
class Alternative(TClosenessRule):
    """Ordered t-closeness, summed another way; the search learns only whether it holds, and nothing else."""

    way: type[OverAllValues] = OverAllValues

    knows_lost = False
    minimum_class_size = 1

    @cached_property
    def distance(self) -> OverAllValues:
        """The distance with that way of summing."""
        return self.way(self.column, Distributions.whole(self.column.counts))


def straightforward(model: TCloseness, facts: Facts) -> Alternative:
    """By the sum over all values."""
    return Alternative(model, facts, OverAllValues)


def check_pruning(model: TCloseness, facts: Facts) -> Alternative:
    """With check pruning."""
    return Alternative(model, facts, CheckPruning)


def summand_pruning(model: TCloseness, facts: Facts) -> Alternative:
    """With check and summand pruning."""
    return Alternative(model, facts, SummandPruning)


# --- grouping by class and value -------------------------------------------------------------------------------------

FIBONACCI = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio: multiples of it spread neighbouring keys evenly."""


def grouped_by_sorting(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[Keys, Keys]:
    """The distinct keys, ascending, and the sums of their counts."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(counts[order], first)


def grouped_in_a_table(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[Keys, Keys]:
    """Groups by a place for every possible key."""
    totals = np.zeros(int(keys.max()) + 1, np.int64)
    np.add.at(totals, keys, counts)
    occurring = np.flatnonzero(totals)
    return occurring, totals[occurring]


def grouped_by_hashing(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[Keys, Keys]:
    """Groups by open addressing with Fibonacci hashing, all keys at once; the distinct ones are sorted in the end.

    In each round a key that finds a free slot claims it. The last claim wins, and keys whose slot has another key go on
    to the next slot.
    """
    bits = max(int(2 * len(keys) - 1).bit_length(), 1)
    taken, totals = np.full(1 << bits, -1, np.int64), np.zeros(1 << bits, np.int64)
    slots = (keys.astype(np.uint64) * FIBONACCI >> np.uint64(64 - bits)).astype(np.int64)
    left = np.arange(len(keys))
    while len(left):
        free = left[taken[slots[left]] < 0]
        taken[slots[free]] = keys[free]
        left = left[taken[slots[left]] != keys[left]]
        slots[left] = slots[left] + 1 & (1 << bits) - 1
    np.add.at(totals, slots, counts)
    occurring = np.flatnonzero(totals)
    order = np.argsort(taken[occurring])
    return taken[occurring[order]], totals[occurring[order]]


ALL_PAIRS = "a table of all pairs"

GROUPINGS: Mapping[str, Callable[[NDArray[np.int64], NDArray[np.int64]], tuple[Keys, Keys]]] = {
    "sorting": grouped_by_sorting,
    ALL_PAIRS: grouped_in_a_table,
    "Fibonacci hashing": grouped_by_hashing,
}
