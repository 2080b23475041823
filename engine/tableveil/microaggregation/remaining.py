"""The records that remain to be clustered, while methods take one cluster after the other."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import SparseClusters

if TYPE_CHECKING:
    # The search builds on quality models, which build on aggregation.
    from tableveil.control import Control

_MOST_GONE = 8
"""One in so many points may be gone before the others are moved together."""


class Forming:
    """Collects clusters as they are formed."""

    def __init__(self) -> None:
        self._points: list[NDArray[np.intp]] = []
        self._counts: list[NDArray[np.int64]] = []

    def __len__(self) -> int:
        return len(self._points)

    def entries(self, first: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
        """The points of the clusters from that number on, the cluster of each after that number, and its records."""
        clusters = np.repeat(np.arange(len(self) - first), [len(points) for points in self._points[first:]])
        return np.concatenate(self._points[first:]), clusters, np.concatenate(self._counts[first:])

    def add(self, points: NDArray[np.intp], counts: NDArray[np.int64]) -> None:
        """Adds a cluster: so many records of these points."""
        self._points.append(points)
        self._counts.append(counts)

    def extend(self, cluster: int, points: NDArray[np.intp], counts: NDArray[np.int64]) -> None:
        """Adds records to a cluster that was added before."""
        self._points[cluster] = np.append(self._points[cluster], points)
        self._counts[cluster] = np.append(self._counts[cluster], counts)

    def clusters(self) -> SparseClusters:
        """All clusters, in the order in which they were formed."""
        sizes = [len(points) for points in self._points]
        return SparseClusters.of(
            np.concatenate(self._points), np.repeat(np.arange(len(sizes)), sizes), np.concatenate(self._counts)
        )


class Remaining:
    """Points with those of their records that are in no cluster yet.

    Points are named by their positions, which stay in the order of the points but change with every call of `tidy`.
    Distances are squared, one per position. Among points that fit equally well, the first is taken.
    """

    singly = False
    """Whether a cluster takes one record of a person at most."""

    def __init__(self, at: NDArray[np.float64], counts: NDArray[np.int64], names: NDArray[np.intp]) -> None:
        """`at` are coordinates, shape (dimensions, points), with exact sums; `names` are the numbers of the points."""
        self.at = np.ascontiguousarray(at)
        self.counts = counts.copy()
        self.names = names
        self.records = int(counts.sum())
        self._sums = self.at @ self.counts
        self._gone = np.empty(len(counts), np.intp)
        self._many_gone = 0

    @property
    def members(self) -> int:
        """The remaining records: k counts these. A cluster of k takes no more of them."""
        return self.records

    @property
    def centroid(self) -> NDArray[np.float64]:
        """The mean of all remaining records."""
        return self._sums / self.records

    def distances(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """The squared distances from a place in space."""
        # One coordinate after the other and without BLAS: equal points get equal results, at any position.
        read_differences: NDArray[np.float64] = self.at[0] - place[0]
        np.multiply(read_differences, read_differences, out=read_differences)
        differences = np.empty_like(read_differences)
        for along, there in zip(self.at[1:], place[1:], strict=True):
            np.subtract(along, there, out=differences)
            np.multiply(differences, differences, out=differences)
            np.add(read_differences, differences, out=read_differences)
        return read_differences

    def farthest(self, distances: NDArray[np.float64]) -> int:
        """The position of the farthest remaining point; marks points that are gone in the distances."""
        distances[self._gone[: self._many_gone]] = -1.0
        return int(distances.argmax())

    def nearest(self, distances: NDArray[np.float64]) -> int:
        """The position of the nearest remaining point; marks points that are gone in the distances."""
        distances[self._gone[: self._many_gone]] = np.inf
        return int(distances.argmin())

    def nearest_records(
        self, distances: NDArray[np.float64], number: int
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Positions of the points of the nearest records, nearest first, and the number of records of each.

        At least `number` records must remain. Marks points that are gone in the distances.
        """
        near = self.nearest_points(distances, number)
        upto = self.counts[near].cumsum()
        last = int(upto.searchsorted(number))
        near = near[: last + 1]
        counts = self.counts[near]
        counts[-1] -= upto[last] - number
        return near, counts

    def nearest_points(self, distances: NDArray[np.float64], number: int) -> NDArray[np.intp]:
        """The positions of the nearest points, and all as near as the last; nearest first, those that are gone last."""
        distances[self._gone[: self._many_gone]] = np.inf
        if number < len(distances):
            sorted_in_part = distances.copy()
            sorted_in_part.partition(number - 1)
            (near,) = (distances <= sorted_in_part[number - 1]).nonzero()
        else:
            near = np.arange(len(distances))
        in_order: NDArray[np.intp] = near[distances[near].argsort(kind="stable")]
        return in_order

    def take(self, positions: NDArray[np.intp], counts: NDArray[np.int64]) -> None:
        """Takes so many records of the points at these positions; each position is given once."""
        self.counts[positions] -= counts
        self.records -= int(counts.sum())
        self._sums -= self.at[:, positions] @ counts.astype(np.float64)
        gone = positions[self.counts[positions] == 0]
        self._gone[self._many_gone : self._many_gone + len(gone)] = gone
        self._many_gone += len(gone)

    def take_cluster(self, forming: Forming, distances: NDArray[np.float64], number: int) -> None:
        """Forms a cluster of the nearest records."""
        positions, counts = self.nearest_records(distances, number)
        forming.add(self.names[positions], counts)
        self.take(positions, counts)

    def take_rest(self, forming: Forming) -> None:
        """Forms a cluster of all remaining records."""
        positions = np.flatnonzero(self.counts)
        counts = self.counts[positions]
        forming.add(self.names[positions], counts)
        self.take(positions, counts)

    def finish(self, k: int, forming: Forming, first: int, control: Control) -> None:
        """Puts the last records, of which no two clusters of k can be formed, into a cluster.

        Others form them into clusters, or into those from the number `first`.
        """
        if self.records:
            self.take_rest(forming)

    def bar(self, distances: NDArray[np.float64], members: Collection[int]) -> None:
        """Marks, in the distances, points of which a cluster with members at these positions should take no record."""

    def tidy(self) -> None:
        """Moves the points together if many are gone; earlier positions and distances become void then."""
        if self._many_gone * _MOST_GONE > len(self.counts):
            self.select(np.flatnonzero(self.counts))

    def select(self, left: NDArray[Any]) -> None:
        """Keeps the points at these positions: all that have records."""
        self.at, self.counts, self.names = self.at[:, left], self.counts[left], self.names[left]
        self._many_gone = 0
