"""How far a cluster would be from everybody if one of its records were another one, for many candidates at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import SensitiveColumn
from tableveil.microaggregation.closeness.targets import Target
from tableveil.policy import Distance

EXACT = 2**62
"""Work up to which whole numbers of 64 bits hold it; beyond, floats choose what is swapped."""

TABLE = 1 << 22
"""Most costs of a table that answers for all places in a cluster and all values."""

Numbers = NDArray[Any]
"""Whole numbers, or floats where these would not fit."""


class Swaps(ABC):
    """Work, as distances mean it, of clusters of `size` records in one column: n * N * unit times the distance."""

    @abstractmethod
    def swapped(self, members: NDArray[np.intp], incoming: NDArray[np.intp]) -> Numbers:
        """The work after a member is replaced by another record, shape (incoming, members), of the codes of both."""


class OrderedSwaps(Swaps):
    """Ordered distance: the records of a cluster, by rank, against the quantiles of everybody.

    On a line the cheapest transport keeps the order: the i-th of s records takes the i-th s-th of everybody, which is
    its slot. So work is a sum of one cost per record and slot. Replacing a record moves those between the old and the
    new rank by one slot, and prefix sums of the costs there give the new work: what all swaps cost takes one addition
    each.
    """

    def __init__(self, column: SensitiveColumn, size: int) -> None:
        records, values = column.records, len(column.counts)
        kind = np.int64 if size * records * values < EXACT else np.float64
        null_first = column.null_first and column.null_code is not None
        self._rank = np.roll(np.arange(values), -1) if null_first else np.arange(values)
        counts = np.empty(values, kind)
        counts[self._rank] = column.counts
        ranks = np.arange(values)
        # Everybody's records, `size` times each: how many are below a rank, and the sum of their ranks.
        self._below = size * (np.cumsum(counts) - counts)
        self._summed = size * (np.cumsum(counts * ranks) - counts * ranks)
        # Where slots begin and end, and the sum of ranks below.
        self._ends = np.arange(size + 1).astype(kind) * records
        at = np.searchsorted(self._below, self._ends, "right") - 1
        self._sums = self._summed[at] + ranks[at] * (self._ends - self._below[at])
        self._slots = np.arange(size)
        last = size - 1
        self._around = np.stack((self._slots, (self._slots - 1).clip(min=0), (self._slots + 1).clip(max=last)))
        # Of a record before which so many members stand: its slot if an earlier one goes, and if a later one does.
        self._beside = np.stack((np.append(0, self._slots), np.append(self._slots, last)))
        self._table = self._costs(self._slots[:, None], ranks) if size * values <= TABLE else None

    def swapped(self, members: NDArray[np.intp], incoming: NDArray[np.intp]) -> Numbers:
        """By prefix sums over the members in order."""
        ranks = self._rank[members]
        order = ranks.argsort(kind="stable")
        ranks, slots, size = ranks[order], self._slots, len(members)
        # What members cost in their slots, in the ones before, and in the ones after, where there are such.
        costs = self._cost(self._around, ranks)
        costs[1, 0] = costs[2, -1] = 0
        sums = np.zeros((3, size + 1), costs.dtype)
        costs.cumsum(axis=1, out=sums[:, 1:])
        stay, down, up = sums

        coming = self._rank[incoming]
        before = ranks.searchsorted(coming)
        in_slot_before, in_slot = self._cost(self._beside[:, before], coming)
        # Those between an earlier one that goes and the new one move down by one slot.
        earlier = stay[-1] - stay[before] + down[before] + in_slot_before
        going_earlier = stay[:-1] - down[1:]
        # Those from the new one to a later one that goes move up by one slot.
        later = stay[-1] + stay[before] - up[before] + in_slot
        going_later = up[:-1] - stay[1:]
        before = before[:, None]
        work = np.where(slots < before, earlier[:, None] + going_earlier, later[:, None] + going_later)
        result = np.empty_like(work)
        result[:, order] = work
        return result

    def _costs(self, slots: NDArray[np.intp], ranks: NDArray[np.intp]) -> Numbers:
        """How far it is from each rank to the ranks of everybody's records in the slot, summed."""
        low, high = self._ends[slots], self._ends[slots + 1]
        sum_low, sum_high = self._sums[slots], self._sums[slots + 1]
        # Where in the slot the rank is, and the sum up to there: both rise together.
        at = np.clip(self._below[ranks], low, high)
        summed = np.clip(self._summed[ranks], sum_low, sum_high)
        costs: Numbers = ranks * (2 * at - low - high) - 2 * summed + sum_low + sum_high
        return costs

    def _cost(self, slots: NDArray[np.intp], ranks: NDArray[np.intp]) -> Numbers:
        return self._costs(slots, ranks) if self._table is None else self._table[slots, ranks]


class GroupedSwaps(Swaps):
    """Hierarchical distance: what groups above their share have above it, by level. Equal distance is one level."""

    def __init__(self, column: SensitiveColumn, size: int, levels: Sequence[NDArray[np.integer[Any]]]) -> None:
        self._kind = np.int64 if size * column.records * max(len(levels), 1) < EXACT else np.float64
        self._records = column.records
        self._size = size
        self._levels = [(groups, np.bincount(groups, column.counts).astype(self._kind) * size) for groups in levels]

    def swapped(self, members: NDArray[np.intp], incoming: NDArray[np.intp]) -> Numbers:
        """What goes lowers its group, what comes raises its own, and within a group nothing changes."""
        work: Numbers = np.zeros((len(incoming), len(members)), self._kind)
        for groups, shares in self._levels:
            own, coming = groups[members], groups[incoming]
            alike = own[:, None] == own
            same = coming[:, None] == own
            above = self._above(alike.sum(axis=1), shares[own])
            first = alike.argmax(axis=1) == np.arange(len(own))
            lower = self._above(alike.sum(axis=1) - 1, shares[own]) - above
            there = same.sum(axis=1)
            raised = self._above(there + 1, shares[coming]) - self._above(there, shares[coming])
            work += above[first].sum() + np.where(same, 0, lower + raised[:, None])
        return work

    def _above(self, counts: NDArray[np.intp], shares: Numbers) -> Numbers:
        above: Numbers = np.maximum(counts.astype(self._kind) * self._records - shares, 0)
        return above


class ExcessSwaps:
    """How far clusters of `size` records would be beyond their targets, the worst of several columns deciding."""

    def __init__(self, targets: Sequence[Target], size: int) -> None:
        self._parts = []
        for target in targets:
            column = target.mover.column
            whole = size * column.records * target.mover.unit
            self._parts.append((_swaps(target, size), whole, float(target.t)))

    def after(self, members: Sequence[NDArray[np.intp]], incoming: Sequence[NDArray[np.intp]]) -> NDArray[np.float64]:
        """The excess after each swap, shape (incoming, members), of the codes of both per target."""
        parts = [
            swaps.swapped(own, coming) / whole - t
            for (swaps, whole, t), own, coming in zip(self._parts, members, incoming, strict=True)
        ]
        excess: NDArray[np.float64] = parts[0] if len(parts) == 1 else np.max(parts, axis=0)
        return excess

    def now(self, members: Sequence[NDArray[np.intp]]) -> float:
        """The excess as it is: after a record is replaced by itself."""
        return float(self.after(members, [own[:1] for own in members])[0, 0])


def _swaps(target: Target, size: int) -> Swaps:
    column, distance = target.mover.column, target.model.distance
    if distance is Distance.ORDERED:
        return OrderedSwaps(column, size)
    if distance is Distance.EQUAL:
        return GroupedSwaps(column, size, [np.arange(len(column.counts))])
    assert column.levels is not None, f"{column.column} has no hierarchy"
    return GroupedSwaps(column, size, column.levels.groups[: column.levels.top])
