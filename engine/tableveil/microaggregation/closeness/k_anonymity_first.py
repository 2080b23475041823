"""Clusters of k near records; records are exchanged if they keep a cluster from being t-close."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import Space, SparseClusters
from tableveil.microaggregation.closeness.strata import Strata
from tableveil.microaggregation.closeness.swaps import ExcessSwaps
from tableveil.microaggregation.closeness.targets import ClosenessTarget, least_size

if TYPE_CHECKING:
    # The search builds on quality models, which build on aggregation.
    from tableveil.control import Control

WHOLE = 5_000
"""Up to this number of records, all are candidates for every cluster, as published."""

BLOCK = 1_000
"""Records of a block into which more records are split, unless that makes too few clusters."""

CLUSTERS = 20
"""The fewest clusters that a block must have room for before it is split again."""

TRIED = 64
"""The number of candidates tried at a time at first; four times as many after each try in vain."""

CELLS = 1 << 20
"""The most swaps that are computed at a time in all blocks, if more than `TRIED` candidates in each lead to them."""


def k_anonymity_first(
    space: Space, k: int, targets: Sequence[ClosenessTarget], control: Control, on_progress: Callable[[int, int], None]
) -> SparseClusters:
    """Forms clusters of at least k records, each as close to its targets as swaps among near records can bring it.

    Soria-Comas et al. 2015, algorithm 2. In turns, two records start a cluster of their k nearest: the record farthest
    from the centroid of the remaining records, and the record farthest from that one. While a cluster is beyond its
    targets, the next nearest record replaces the member for which the distance falls most, if it falls. The last
    records, fewer than 2 k, form a cluster. Clusters that are not close enough in the end have to be merged.

    If no k records can be t-close, k is raised to the least number of which some can be: with the published k all swaps
    would be in vain, and would only bring far records together.

    Up to `WHOLE` records everything follows the paper, in time that grows with the square of the points. More records
    are split into blocks of near records first, and each record is compared within its own block only: so at most
    `BLOCK` records, or `CLUSTERS` times k, are candidates for a cluster. Blocks do not depend on each other, so all of
    them advance side by side, each with its next candidates.

    Raises:
        Stopped: `control` says so.
    """
    points = space.points
    k = least_size(targets, k)
    codes = [points.sensitive[target.position] for target in targets]
    records = int(points.counts.sum())
    together = Strata.of(np.repeat(np.arange(len(points.counts)), points.counts), 1)
    parts = list(together.blocks(space, WHOLE if records <= WHOLE else max(BLOCK, CLUSTERS * k)))
    pools = [_Pool(space, part.grid.ravel(), k, CELLS // (k * len(parts))) for part in parts]
    swaps = ExcessSwaps(targets, k)
    asked = _asked([(pool.forming(), None) for pool in pools])
    while asked:
        control.raise_if_stopped()
        on_progress(records - sum(pool.left for pool in pools), records)
        better = _found(swaps, codes, [tried for _, tried in asked])
        asked = _asked([(forming, one) for (forming, _), one in zip(asked, better, strict=True)])
    on_progress(records, records)
    clusters = [members for pool in pools for members in pool.clusters]
    numbers = np.repeat(np.arange(len(clusters)), [len(members) for members in clusters])
    of_records = np.concatenate(clusters)
    return SparseClusters.of(of_records, numbers, np.ones(len(of_records), np.int64))


class TrialMembers(NamedTuple):
    """The members of a cluster that is being formed, and the next candidates for it, by their points."""

    members: NDArray[np.intp]
    candidates: NDArray[np.intp]


class BetterCandidate(NamedTuple):
    """The first candidate that is better than a member (-1 if none is), that member, and the excess after the swap."""

    taken: int
    leaving: int
    excess: float


Swapping = Generator[TrialMembers, BetterCandidate | None, None]
"""Forms the clusters of a block; it yields the candidates to try and is sent the swap that was found."""


def _asked(answers: Sequence[tuple[Swapping, BetterCandidate | None]]) -> list[tuple[Swapping, TrialMembers]]:
    """The next candidates of the blocks that are not done yet."""
    asked = []
    for forming, candidate in answers:
        with suppress(StopIteration):
            asked.append((forming, forming.send(candidate)))
    return asked


def _found(
    swaps: ExcessSwaps, codes: Sequence[NDArray[np.int32]], asked: Sequence[TrialMembers]
) -> list[BetterCandidate]:
    """Computes the swaps of all blocks at once: one call per block would take much longer than its work."""
    members = np.stack([tried.members for tried in asked])
    candidates = np.concatenate([tried.candidates for tried in asked])
    lengths = np.array([len(tried.candidates) for tried in asked])
    clusters = np.repeat(np.arange(len(asked)), lengths)
    coming = [of[candidates].astype(np.intp) for of in codes]
    excess = swaps.of([of[members].astype(np.intp) for of in codes])
    after = excess.after(clusters, coming)
    beyond = np.where(excess.now > 0, excess.now, -np.inf)
    better = np.flatnonzero(after.min(axis=1) < beyond[clusters])[::-1]
    # Among several in a block the last write stays, which is the first candidate.
    first = np.full(len(asked), -1)
    first[clusters[better]] = better
    best = after[first]
    taken = np.where(first < 0, -1, first - (lengths.cumsum() - lengths))
    excesses = np.where(first < 0, excess.now, best.min(axis=1))
    return list(map(BetterCandidate, taken.tolist(), best.argmin(axis=1).tolist(), excesses.tolist()))


class _Pool:
    """The records of a block that are in no cluster yet, by point.

    Attributes:
        left: The number of these records.
        clusters: The clusters formed so far, each as the points of its records, one entry per record.
    """

    def __init__(self, space: Space, records: NDArray[np.intp], k: int, most: int) -> None:
        """`records` are given by their points; at most `most` candidates are tried at a time, if above `TRIED`."""
        self._points, self._counts = np.unique(records, return_counts=True)
        self._coordinates = space.at(self._points).T
        self._k = k
        self._most = most
        self.left = len(records)
        self.clusters: list[NDArray[np.intp]] = []

    def forming(self) -> Swapping:
        """Takes all records into clusters."""
        first: int | None = None
        while self.left:
            start = self._farthest(self._centroid if first is None else self._coordinates[first])
            if self.left < 2 * self._k:
                members = np.repeat(self._points, self._counts)
            else:
                members = yield from self._exchanged(start)
            np.subtract.at(self._counts, self._points.searchsorted(members), 1)
            self.left -= len(members)
            self.clusters.append(members)
            first = start if first is None else None

    @property
    def _centroid(self) -> NDArray[np.float64]:
        """The mean of the records."""
        mean: NDArray[np.float64] = self._counts @ self._coordinates / self.left
        return mean

    def _farthest(self, place: NDArray[np.float64]) -> int:
        """The point with records that is farthest from the place; the first if several are equally far."""
        there = np.flatnonzero(self._counts)
        return int(there[self._squared(there, place).argmax()])

    def _exchanged(self, start: int) -> Generator[TrialMembers, BetterCandidate | None, NDArray[np.intp]]:
        there = np.flatnonzero(self._counts)
        squared = self._squared(there, self._coordinates[start])
        squared[there == start] = -1
        order = there[squared.argsort(kind="stable")]
        counts = self._counts[order]
        points = self._points[order]
        upto = np.cumsum(counts)
        last = int(np.searchsorted(upto, self._k))
        mine = counts[: last + 1].copy()
        mine[last] -= upto[last] - self._k
        members = np.repeat(points[: last + 1], mine)
        # The remaining records of the last point come first.
        outside, remaining = points[last:], counts[last:].copy()
        remaining[0] -= mine[last]
        if not remaining[0]:
            outside, remaining = outside[1:], remaining[1:]
        return (yield from self._swapped(members, outside, remaining))

    def _swapped(
        self, members: NDArray[np.intp], outside: NDArray[np.intp], remaining: NDArray[np.int64]
    ) -> Generator[TrialMembers, BetterCandidate | None, NDArray[np.intp]]:
        """The members, after each record outside had its chance to be swapped in, the nearest first."""
        excess, tried, next_one = np.inf, TRIED, 0
        while excess > 0 and next_one < len(outside):
            candidates = outside[next_one : next_one + tried]
            candidate = yield TrialMembers(members, candidates)
            assert candidate is not None, "a swap was not tried"
            taken, leaving, excess = candidate
            if taken < 0:
                # Nothing changed, so other records of these points would not be swapped in either.
                next_one += len(candidates)
                tried = max(TRIED, min(4 * tried, self._most))
                continue
            members[leaving] = candidates[taken]
            next_one += taken
            remaining[next_one] -= 1
            if not remaining[next_one]:
                next_one += 1
        return members

    def _squared(self, there: NDArray[np.intp], place: NDArray[np.float64]) -> NDArray[np.float64]:
        squared: NDArray[np.float64] = np.square(self._coordinates[there] - place).sum(axis=1)
        return squared
