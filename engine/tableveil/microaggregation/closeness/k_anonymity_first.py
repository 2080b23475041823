"""Clusters of k near records, of which those are exchanged that keep a cluster from being t-close."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import Space
from tableveil.aggregation.points import Clusters
from tableveil.microaggregation.closeness.strata import Strata
from tableveil.microaggregation.closeness.swaps import ExcessSwaps
from tableveil.microaggregation.closeness.targets import Target, least_size

if TYPE_CHECKING:
    # The search builds on quality models, and those on what is aggregated.
    from tableveil.control import Control

WHOLE = 5_000
"""Records up to which all are candidates for every cluster, as published."""

BLOCK = 1_000
"""Records of a block that more are parted into, unless these are few clusters."""

CLUSTERS = 20
"""Clusters for which a block has room at least, before it is parted once more."""

TRIED = 64
"""Candidates that are tried at a time at first; four times as many whenever none of them is taken."""

CELLS = 1 << 20
"""Most swaps that are looked at at a time in all blocks, if more than `TRIED` candidates in each make them."""


def k_anonymity_first(
    space: Space,
    k: int,
    targets: Sequence[Target],
    control: Control,
    on_progress: Callable[[int, int], None],
) -> Clusters:
    """Clusters of at least k records, each as close to its targets as swaps among near records bring it.

    Soria-Comas et al. 2015, algorithm 2. In turns the record farthest from the centroid of what is left, and the one
    farthest from that, start a cluster of their k nearest. While it is beyond its targets the next nearest record takes
    the place of the member for which the distance falls most, if it falls. The last, fewer than 2 k, are a cluster.
    What is not close enough in the end has to be merged.

    Where no k records can be t-close, whichever they are, k is the least number of which some are: with the published
    k all swaps would be in vain, and would only bring far records together.

    Up to `WHOLE` records everything is as published, in time that grows with the square of the points. More are parted
    into blocks of near records first, and then each is held against those of its own block only: so at most `BLOCK`
    records, or `CLUSTERS` times k, have a chance to be taken into a cluster. Blocks do not depend on each other, so all
    of them go on side by side, each with its next candidates.

    Raises:
        Stopped: by the control.
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
        found = _found(swaps, codes, [tried for _, tried in asked])
        asked = _asked([(forming, one) for (forming, _), one in zip(asked, found, strict=True)])
    on_progress(records, records)
    clusters = [members for pool in pools for members in pool.clusters]
    numbers = np.repeat(np.arange(len(clusters)), [len(members) for members in clusters])
    of_records = np.concatenate(clusters)
    return Clusters.of(of_records, numbers, np.ones(len(of_records), np.int64))


class Tried(NamedTuple):
    """The members of a cluster that is being formed, and the next candidates for it, by their points."""

    members: NDArray[np.intp]
    candidates: NDArray[np.intp]


class Found(NamedTuple):
    """The first candidate that is better than a member, -1 if none is, that member, and the excess with it."""

    taken: int
    leaving: int
    excess: float


Swapping = Generator[Tried, Found | None, None]
"""Forms the clusters of a block; wherever candidates are to be tried it waits for what is found."""


def _asked(answers: Sequence[tuple[Swapping, Found | None]]) -> list[tuple[Swapping, Tried]]:
    """What is to be tried next, of the blocks that are not done yet."""
    asked = []
    for forming, found in answers:
        with suppress(StopIteration):
            asked.append((forming, forming.send(found)))
    return asked


def _found(swaps: ExcessSwaps, codes: Sequence[NDArray[np.int32]], asked: Sequence[Tried]) -> list[Found]:
    """What is found in each block, all at once: one by one, calls would take much longer than what they do."""
    members = np.stack([tried.members for tried in asked])
    candidates = np.concatenate([tried.candidates for tried in asked])
    lengths = np.array([len(tried.candidates) for tried in asked])
    clusters = np.repeat(np.arange(len(asked)), lengths)
    coming = [of[candidates].astype(np.intp) for of in codes]
    excess = swaps.of([of[members].astype(np.intp) for of in codes])
    after = excess.after(clusters, coming)
    beyond = np.where(excess.now > 0, excess.now, -np.inf)
    better = np.flatnonzero(after.min(axis=1) < beyond[clusters])[::-1]
    # Of several in a block the last one stays, which is the first of them.
    first = np.full(len(asked), -1)
    first[clusters[better]] = better
    best = after[first]
    taken = np.where(first < 0, -1, first - (lengths.cumsum() - lengths))
    found = np.where(first < 0, excess.now, best.min(axis=1))
    return list(map(Found, taken.tolist(), best.argmin(axis=1).tolist(), found.tolist()))


class _Pool:
    """The records of a block that are in no cluster yet, by point.

    Attributes:
        left: How many they are.
        clusters: Those that are formed, by the points of their records, one for one.
    """

    def __init__(self, space: Space, records: NDArray[np.intp], k: int, most: int) -> None:
        """`records` by their points; no more than `most` candidates are tried at a time, if that is above `TRIED`."""
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
        """The point with records that is farthest from the place, of equally far ones the first."""
        there = np.flatnonzero(self._counts)
        return int(there[self._squared(there, place).argmax()])

    def _exchanged(self, start: int) -> Generator[Tried, Found | None, NDArray[np.intp]]:
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
        # What is left of the last point comes first.
        outside, remaining = points[last:], counts[last:].copy()
        remaining[0] -= mine[last]
        if not remaining[0]:
            outside, remaining = outside[1:], remaining[1:]
        return (yield from self._swapped(members, outside, remaining))

    def _swapped(
        self, members: NDArray[np.intp], outside: NDArray[np.intp], remaining: NDArray[np.int64]
    ) -> Generator[Tried, Found | None, NDArray[np.intp]]:
        """The members after all records outside, from the nearest on, had their chance."""
        excess, tried, next_one = np.inf, TRIED, 0
        while excess > 0 and next_one < len(outside):
            candidates = outside[next_one : next_one + tried]
            found = yield Tried(members, candidates)
            assert found is not None, "what was to be tried was not"
            taken, leaving, excess = found
            if taken < 0:
                # Nothing has changed, so neither would other records of these points be taken.
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
