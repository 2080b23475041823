"""MDAV in blocks of near records: nearly as good clusters, in time that grows only with the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import Space
from tableveil.microaggregation.mdav import mdav, take_opposite
from tableveil.microaggregation.remaining import Forming, Remaining
from tableveil.microaggregation.remaining_people import remaining_of

if TYPE_CHECKING:
    from tableveil.control import Control

LARGEST = 5_000
"""The most records of a block, unless 20 clusters need more."""

_LEAST_CLUSTERS = 20
"""The fewest clusters that a block must have room for."""

_STEPS = 60
"""Steps of MDAV before a block is split."""

_LEAST_STEPS, _MANY = 8, 4
"""The fewest steps in large blocks, and the multiple of the largest final block from which blocks are large."""

Block = tuple[NDArray[np.intp], NDArray[np.int64]]
"""Points in their order, and the number of records of each."""


def partition(
    space: Space,
    k: int,
    forming: Forming,
    control: Control,
    on_taken: Callable[[int], None] = lambda records: None,
    largest: int = LARGEST,
    *,
    singly: bool = False,
) -> None:
    """Runs MDAV in `blocks`; each block takes some steps of MDAV before it is split.

    Records far out, whose neighbours are far out too, find these neighbours in those steps, before a split would
    separate them. Clusters have k records, except for one per final block, which has up to 2k - 1. Memory grows with
    the points, time hardly faster than with the records. A point with n records is treated exactly as n points in its
    place.

    Args:
        space: The points to cluster.
        k: The least size, at least 1.
        forming: Collects the clusters.
        control: May stop the work.
        on_taken: Called from time to time with the number of records newly in clusters.
        largest: The most records of a final block.
        singly: See `RemainingPeople`.

    Raises:
        Stopped: `control` says so.
    """

    def some_steps(remaining: Remaining) -> None:
        whole = remaining.records
        for _ in range(max(_LEAST_STEPS, min(_STEPS, _STEPS * _MANY * largest // whole))):
            control.raise_if_stopped()
            if remaining.members >= 4 * k:
                take_opposite(remaining, k, forming)
        on_taken(whole - remaining.records)

    of_block = partial(remaining_of, space, singly=singly)
    for points, counts in blocks(space, k, largest, of_block, some_steps):
        mdav(of_block(points, counts), k, forming, control, on_taken)


def blocks(
    space: Space,
    k: int,
    largest: int,
    of_block: Callable[[NDArray[np.intp], NDArray[np.int64]], Remaining],
    before_split: Callable[[Remaining], None],
) -> Iterator[Block]:
    """Splits the records as a kd-tree does, across the widest coordinate, into as few equal blocks as possible.

    A block has at most `largest` records, or room for 20 clusters; it has a multiple of k, except for one.
    `before_split` may take records from a block before it is split, as long as 2k of them remain.
    """
    largest = max(largest, _LEAST_CLUSTERS * k)
    counts = space.points.counts
    waiting: list[Block] = [(np.arange(len(counts)), counts)]
    while waiting:
        points, counts = waiting.pop()
        if int(counts.sum()) <= largest:
            yield points, counts
            continue
        remaining = of_block(points, counts)
        before_split(remaining)
        waiting += _split(remaining, k, -(-remaining.records // largest))


def _split(remaining: Remaining, k: int, number: int) -> list[Block]:
    """Splits the rest into two blocks that can be split further into `number`; leaves it whole if that is one."""
    left = np.flatnonzero(remaining.counts)
    at, points, counts = remaining.at[:, left], remaining.names[left], remaining.counts[left]
    if number == 1:
        return [(points, counts)]
    order = at[_widest(at, counts)].argsort(kind="stable")
    first = remaining.records * (number // 2) // number // k * k
    upto = counts[order].cumsum()
    middle = int(upto.searchsorted(first))
    beyond = upto[middle] - first
    low, high = order[: middle + 1], order[middle if beyond else middle + 1 :]
    low_counts, high_counts = counts[low], counts[high]
    low_counts[-1] -= beyond
    if beyond:
        high_counts[0] = beyond
    return [_in_order(points[low], low_counts), _in_order(points[high], high_counts)]


def _in_order(points: NDArray[np.intp], counts: NDArray[np.int64]) -> Block:
    order = points.argsort()
    return points[order], counts[order]


def _widest(at: NDArray[np.float64], counts: NDArray[np.int64]) -> int:
    """The coordinate with the largest variance, the first if several have it.

    Counted in whole steps so large that all sums are exact, however the records are spread over points.
    """
    records = int(counts.sum())
    least = at.min(axis=1, keepdims=True)
    width = (at.max(axis=1, keepdims=True) - least).max()
    steps = float(2 ** ((52 - records.bit_length()) // 2))
    whole = np.rint((at - least) * (steps / (width or 1.0)))
    return int((whole**2 @ counts - (whole @ counts) ** 2 / records).argmax())
