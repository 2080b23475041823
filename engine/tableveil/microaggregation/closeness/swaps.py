"""The distance of clusters from the whole table if one record were replaced, for many candidates at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import SensitiveColumn
from tableveil.microaggregation.closeness.targets import ClosenessTarget
from tableveil.policy import Distance

EXACT = 2**62
"""Up to this work, 64-bit whole numbers hold it; beyond, floats choose the swap."""

TABLE = 1 << 22
"""The most costs in a table that has all places in a cluster and all values."""

Numbers = NDArray[Any]
"""Whole numbers, or floats where whole numbers would not fit."""


class ClusterSwaps(ABC):
    """The work of clusters in one column if another record replaces a member."""

    work: Numbers
    """The present work per cluster: n * N * unit times the distance, with n the cluster's records and N all records."""

    @abstractmethod
    def after(self, clusters: NDArray[np.intp], incoming: NDArray[np.intp]) -> Numbers:
        """The work of the cluster after the record of this code replaces a member, shape (incoming, members)."""


class Swaps(ABC):
    """One column, against which clusters of `size` records are measured."""

    @abstractmethod
    def of(self, members: NDArray[np.intp]) -> ClusterSwaps:
        """Swaps with clusters whose members have these codes, shape (clusters, size)."""


class OrderedSwaps(Swaps):
    """Ordered distance: the records of a cluster, by rank, against the quantiles of the whole table.

    On a line the cheapest transport keeps the order: the i-th of s records takes the i-th s-th part of the whole table,
    which is its slot. So work is a sum of one cost per record and slot.
    """

    def __init__(self, column: SensitiveColumn, size: int) -> None:
        records, values = column.records, len(column.counts)
        kind = np.int64 if size * records * values < EXACT else np.float64
        null_first = column.null_first and column.null_code is not None
        self.rank = np.roll(np.arange(values), -1) if null_first else np.arange(values)
        counts = np.empty(values, kind)
        counts[self.rank] = column.counts
        ranks = np.arange(values)
        # All records, `size` times each: how many are below a rank, and the sum of their ranks.
        self._below = size * (np.cumsum(counts) - counts)
        self._summed = size * (np.cumsum(counts * ranks) - counts * ranks)
        # The begin and end of slots, and the sum of ranks below.
        self._ends = np.arange(size + 1).astype(kind) * records
        at = np.searchsorted(self._below, self._ends, "right") - 1
        self._sums = self._summed[at] + ranks[at] * (self._ends - self._below[at])
        self._slots = np.arange(size)
        last = size - 1
        self.around = np.stack((self._slots, (self._slots - 1).clip(min=0), (self._slots + 1).clip(max=last)))
        # The slots of a record behind so many members: its slot if an earlier one goes, and if a later one goes.
        self.beside = np.stack((np.append(0, self._slots), np.append(self._slots, last)))
        self._table = self._costs(self._slots[:, None], ranks) if size * values <= TABLE else None

    def of(self, members: NDArray[np.intp]) -> OrderedClusterSwaps:
        """Uses prefix sums over the members in order."""
        return OrderedClusterSwaps(self, members)

    def cost(self, slots: NDArray[np.intp], ranks: NDArray[np.intp]) -> Numbers:
        """The sum of distances from each rank to the ranks in its slot, from the table if there is one."""
        return self._costs(slots, ranks) if self._table is None else self._table[slots, ranks]

    def _costs(self, slots: NDArray[np.intp], ranks: NDArray[np.intp]) -> Numbers:
        """The sum of distances from each rank to the ranks of all records in the slot."""
        low, high = self._ends[slots], self._ends[slots + 1]
        sum_low, sum_high = self._sums[slots], self._sums[slots + 1]
        # The place of the rank in the slot, and the sum up to there: both rise together.
        at = np.clip(self._below[ranks], low, high)
        summed = np.clip(self._summed[ranks], sum_low, sum_high)
        costs: Numbers = ranks * (2 * at - low - high) - 2 * summed + sum_low + sum_high
        return costs


class OrderedClusterSwaps(ClusterSwaps):
    """Replacing a record moves the members between the old and the new rank by one slot.

    Prefix sums of their costs give the new work: each swap takes one addition.
    """

    def __init__(self, swaps: OrderedSwaps, members: NDArray[np.intp]) -> None:
        self._swaps = swaps
        number, self._size = members.shape
        rows = np.arange(number)[:, None]
        ranks = swaps.rank[members]
        self._order = ranks.argsort(axis=1, kind="stable")
        ranks = ranks[rows, self._order]
        # Clusters follow each other, so that one search finds a place in any of them.
        self._places = (ranks + rows * len(swaps.rank)).ravel()
        # The members' costs in their slots, in the slots before, and in the slots after, where these exist.
        costs = swaps.cost(swaps.around[:, None], ranks)
        costs[1, :, 0] = costs[2, :, -1] = 0
        sums = np.zeros((3, number, self._size + 1), costs.dtype)
        costs.cumsum(axis=2, out=sums[:, :, 1:])
        stay, down, up = sums
        self.work = stay[:, -1]
        # The members between an earlier one that goes and the new one move down by one slot.
        self._earlier, self._going_earlier = stay[:, -1:] - stay + down, stay[:, :-1] - down[:, 1:]
        # The members between the new one and a later one that goes move up by one slot.
        self._later, self._going_later = stay[:, -1:] + stay - up, up[:, :-1] - stay[:, 1:]

    def after(self, clusters: NDArray[np.intp], incoming: NDArray[np.intp]) -> Numbers:
        """Looks up how many members stand before each record."""
        values = len(self._swaps.rank)
        coming = self._swaps.rank[incoming]
        before = self._places.searchsorted(coming + clusters * values) - clusters * self._size
        in_slot_before, in_slot = self._swaps.cost(self._swaps.beside.take(before, axis=1), coming)
        earlier = (self._earlier[clusters, before] + in_slot_before)[:, None] + self._going_earlier[clusters]
        later = (self._later[clusters, before] + in_slot)[:, None] + self._going_later[clusters]
        work = np.where(np.arange(self._size) < before[:, None], earlier, later)
        result = np.empty_like(work)
        result[np.arange(len(work))[:, None], self._order[clusters]] = work
        return result


class GroupedSwaps(Swaps):
    """Hierarchical distance: the excess of groups above their share, by level. Equal distance is one level."""

    def __init__(self, column: SensitiveColumn, size: int, levels: Sequence[NDArray[np.integer[Any]]]) -> None:
        self.kind = np.int64 if size * column.records * max(len(levels), 1) < EXACT else np.float64
        self._records = column.records
        self.levels = [(groups, np.bincount(groups, column.counts).astype(self.kind) * size) for groups in levels]

    def of(self, members: NDArray[np.intp]) -> GroupedClusterSwaps:
        """Counts the members of each group."""
        return GroupedClusterSwaps(self, members)

    def above(self, counts: NDArray[np.intp], shares: Numbers) -> Numbers:
        """The excess above their shares of groups with so many members."""
        above: Numbers = np.maximum(counts.astype(self.kind) * self._records - shares, 0)
        return above


class GroupedClusterSwaps(ClusterSwaps):
    """The outgoing record lowers its group, the incoming one raises its own, and within a group nothing changes."""

    def __init__(self, swaps: GroupedSwaps, members: NDArray[np.intp]) -> None:
        self._swaps = swaps
        self.work = np.zeros(len(members), swaps.kind)
        self._lower = []
        for groups, shares in swaps.levels:
            own = groups[members]
            alike = own[:, :, None] == own[:, None]
            there = alike.sum(axis=2)
            above = swaps.above(there, shares[own])
            first = alike.argmax(axis=2) == np.arange(members.shape[1])
            self.work += (above * first).sum(axis=1)
            self._lower.append((own, swaps.above(there - 1, shares[own]) - above))

    def after(self, clusters: NDArray[np.intp], incoming: NDArray[np.intp]) -> Numbers:
        """Adds up the levels."""
        work: Numbers = self.work[clusters, None]
        for (groups, shares), (own, lower) in zip(self._swaps.levels, self._lower, strict=True):
            coming = groups[incoming]
            same = coming[:, None] == own[clusters]
            there = same.sum(axis=1)
            raised = self._swaps.above(there + 1, shares[coming]) - self._swaps.above(there, shares[coming])
            work = work + np.where(same, 0, lower[clusters] + raised[:, None])
        return work


class ExcessSwaps:
    """The excess of clusters of `size` records beyond their targets; the worst of several columns decides."""

    def __init__(self, targets: Sequence[ClosenessTarget], size: int) -> None:
        self._parts = []
        for target in targets:
            column = target.mover.column
            whole = size * column.records * target.mover.unit
            self._parts.append((_swaps(target, size), whole, float(target.t)))

    def of(self, members: Sequence[NDArray[np.intp]]) -> ClusterExcess:
        """The excess of clusters whose members have these codes per target, shape (clusters, size)."""
        return ClusterExcess(
            [(swaps.of(own), whole, t) for (swaps, whole, t), own in zip(self._parts, members, strict=True)]
        )


class ClusterExcess:
    """The excess of clusters beyond their targets, now and after swaps."""

    def __init__(self, parts: Sequence[tuple[ClusterSwaps, int, float]]) -> None:
        """`parts` has per target the swaps, the work at a distance of 1, and t."""
        self._parts = parts
        self.now = self._worst([swaps.work for swaps, _, _ in parts])
        """The present excess per cluster."""

    def after(self, clusters: NDArray[np.intp], incoming: Sequence[NDArray[np.intp]]) -> NDArray[np.float64]:
        """The excess of the cluster after each swap, shape (incoming, members), for the codes per target."""
        return self._worst(
            [swaps.after(clusters, coming) for (swaps, _, _), coming in zip(self._parts, incoming, strict=True)]
        )

    def _worst(self, works: Sequence[Numbers]) -> NDArray[np.float64]:
        parts = [work / whole - t for work, (_, whole, t) in zip(works, self._parts, strict=True)]
        excess: NDArray[np.float64] = parts[0] if len(parts) == 1 else np.max(parts, axis=0)
        return excess


def _swaps(target: ClosenessTarget, size: int) -> Swaps:
    column, distance = target.mover.column, target.model.distance
    if distance is Distance.ORDERED:
        return OrderedSwaps(column, size)
    if distance is Distance.EQUAL:
        return GroupedSwaps(column, size, [np.arange(len(column.counts))])
    assert column.levels is not None, f"{column.column} has no hierarchy"
    return GroupedSwaps(column, size, column.levels.groups[: column.levels.top])
