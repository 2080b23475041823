"""Clusters of k near records, of which those are exchanged that keep a cluster from being t-close."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tableveil.microaggregation.closeness.strata import Strata
from tableveil.microaggregation.closeness.swaps import ExcessSwaps
from tableveil.microaggregation.closeness.targets import Target, least_size
from tableveil.microaggregation.coordinates import Space
from tableveil.microaggregation.points import Clusters

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
"""Most swaps that are looked at at a time, if more than `TRIED` candidates make them."""


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
    records, or `CLUSTERS` times k, have a chance to be taken into a cluster.

    Raises:
        Stopped: by the control.
    """
    points = space.points
    k = least_size(targets, k)
    swaps = ExcessSwaps(targets, k)
    codes = [points.sensitive[target.position] for target in targets]
    records, done = int(points.counts.sum()), 0
    found: list[NDArray[np.intp]] = []
    together = Strata.of(np.repeat(np.arange(len(points.counts)), points.counts), 1)
    for part in together.blocks(space, WHOLE if records <= WHOLE else max(BLOCK, CLUSTERS * k)):
        block, counts = np.unique(part.grid, return_counts=True)
        pool = _Pool(space.at(block).T, counts, [of[block].astype(np.intp) for of in codes], k, swaps)
        first: int | None = None
        while pool.left:
            control.raise_if_stopped()
            start = pool.farthest(pool.centroid if first is None else pool.coordinates[first])
            members = pool.taken(start)
            found.append(block[members])
            done += len(members)
            on_progress(done, records)
            first = start if first is None else None
    numbers = np.repeat(np.arange(len(found)), [len(members) for members in found])
    of_records = np.concatenate(found)
    return Clusters.of(of_records, numbers, np.ones(len(of_records), np.int64))


class _Pool:
    """The records of a block that are in no cluster yet, by point."""

    def __init__(
        self,
        coordinates: NDArray[np.float64],
        counts: NDArray[np.int64],
        codes: Sequence[NDArray[np.intp]],
        k: int,
        swaps: ExcessSwaps,
    ) -> None:
        self.coordinates = coordinates
        self._counts = counts.copy()
        self._codes = codes
        self._k = k
        self._swaps = swaps
        self.left = int(counts.sum())

    @property
    def centroid(self) -> NDArray[np.float64]:
        """The mean of the records."""
        mean: NDArray[np.float64] = self._counts @ self.coordinates / self.left
        return mean

    def farthest(self, place: NDArray[np.float64]) -> int:
        """The point with records that is farthest from the place, of equally far ones the first."""
        there = np.flatnonzero(self._counts)
        return int(there[self._squared(there, place).argmax()])

    def taken(self, start: int) -> NDArray[np.intp]:
        """Takes the records of a cluster around the start, by their points, one for one."""
        if self.left < 2 * self._k:
            members = np.repeat(np.arange(len(self._counts)), self._counts)
        else:
            members = self._exchanged(start)
        np.subtract.at(self._counts, members, 1)
        self.left -= len(members)
        return members

    def _exchanged(self, start: int) -> NDArray[np.intp]:
        there = np.flatnonzero(self._counts)
        squared = self._squared(there, self.coordinates[start])
        squared[there == start] = -1
        order = there[squared.argsort(kind="stable")]
        counts = self._counts[order]
        upto = np.cumsum(counts)
        last = int(np.searchsorted(upto, self._k))
        mine = counts[: last + 1].copy()
        mine[last] -= upto[last] - self._k
        members = np.repeat(order[: last + 1], mine)
        # What is left of the last point comes first.
        outside, remaining = order[last:], counts[last:].copy()
        remaining[0] -= mine[last]
        if not remaining[0]:
            outside, remaining = outside[1:], remaining[1:]
        return self._swapped(members, outside, remaining)

    def _swapped(
        self, members: NDArray[np.intp], outside: NDArray[np.intp], remaining: NDArray[np.int64]
    ) -> NDArray[np.intp]:
        """The members after all records outside, from the nearest on, had their chance."""
        excess = self._swaps.now(self._of(members))
        tried, next_one = TRIED, 0
        while excess > 0 and next_one < len(outside):
            candidates = outside[next_one : next_one + tried]
            after = self._swaps.after(self._of(members), self._of(candidates))
            better = np.flatnonzero(after.min(axis=1) < excess)
            if not len(better):
                # Nothing has changed, so neither would other records of these points be taken.
                next_one += len(candidates)
                tried = max(TRIED, min(4 * tried, CELLS // self._k))
                continue
            taken = int(better[0])
            leaving = int(after[taken].argmin())
            members[leaving] = candidates[taken]
            excess = float(after[taken, leaving])
            next_one += taken
            remaining[next_one] -= 1
            if not remaining[next_one]:
                next_one += 1
        return members

    def _of(self, points: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        return [codes[points] for codes in self._codes]

    def _squared(self, there: NDArray[np.intp], place: NDArray[np.float64]) -> NDArray[np.float64]:
        squared: NDArray[np.float64] = np.square(self.coordinates[there] - place).sum(axis=1)
        return squared
