"""The records that remain to be clustered where people have several: clusters are of k different people."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import Space
from tableveil.microaggregation.remaining import Forming, Remaining

if TYPE_CHECKING:
    # The search builds on quality models, which build on aggregation.
    from tableveil.control import Control

_MORE = 4
"""If the nearest points are of too few people, so many times as many points are looked at."""


def remaining_of(space: Space, points: NDArray[np.intp], counts: NDArray[np.int64], *, singly: bool) -> Remaining:
    """So many records of these points, none of them in a cluster; `singly`: see `RemainingPeople`."""
    people = space.points.people
    if people is None:
        return Remaining(space.at(points), counts, points)
    return RemainingPeople(space, counts, points, people, singly=singly)


class RemainingPeople(Remaining):
    """As its base, but a cluster of k has records of k people.

    It takes the nearest records until these are of k people, and their other records that are as near as the last: so
    somebody's many records go together, with few of others. If `singly`, it takes one record of each of the k people
    whose records are nearest: then nobody has more than 1/k of it. Somebody who comes often is in many clusters.
    """

    def __init__(
        self,
        space: Space,
        counts: NDArray[np.int64],
        names: NDArray[np.intp],
        people: NDArray[np.int32],
        *,
        singly: bool,
    ) -> None:
        """`names` are the numbers of the points, `people` has the person of every point."""
        super().__init__(space.at(names), counts, names)
        self.singly = singly
        self._space = space
        self._people = people
        read_people, self._whose = np.unique(people[names], return_inverse=True)
        self._left = np.zeros(len(read_people), np.int64)
        np.add.at(self._left, self._whose, counts)
        self._present = int(np.count_nonzero(self._left))

    @property
    def members(self) -> int:
        """The people who have remaining records. A cluster of k takes the last records of no more than k of them."""
        return self._present

    def nearest_records(
        self, distances: NDArray[np.float64], number: int
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Positions of the points of the records of so many people, nearest first, and the number of records of each.

        At least `number` people must remain.
        """
        asked = number
        while True:
            near = self.nearest_points(distances, asked)
            near = near[self.counts[near] > 0]
            whose = self._whose[near]
            _, first = np.unique(whose, return_index=True)
            if len(first) >= number:
                break
            asked *= _MORE
        first = np.sort(first)[:number]
        if self.singly:
            return near[first], np.ones(number, np.int64)
        last = int(first[-1])
        taken = np.arange(len(near)) <= last
        as_near = (distances[near] == distances[near[last]]) & np.isin(whose, whose[first])
        positions = near[taken | as_near]
        return positions, self.counts[positions]

    def take(self, positions: NDArray[np.intp], counts: NDArray[np.int64]) -> None:
        """Takes so many records of the points at these positions."""
        super().take(positions, counts)
        whose = self._whose[positions]
        np.subtract.at(self._left, whose, counts)
        self._present -= int(np.count_nonzero(self._left[np.unique(whose)] == 0))

    def bar(self, distances: NDArray[np.float64], members: Collection[int]) -> None:
        """If `singly`, marks all points of the people at these positions."""
        if self.singly:
            distances[np.isin(self._whose, self._whose[list(members)])] = np.inf

    def select(self, left: NDArray[Any]) -> None:
        """Keeps the points at these positions."""
        super().select(left)
        self._whose = self._whose[left]

    def finish(self, k: int, forming: Forming, first: int, control: Control) -> None:
        """Forms clusters as long as k people remain afterwards, and a last one; if `singly`, as long as there are k.

        Fewer people's records can remain then. Each joins the nearest cluster, from the number `first`, of which its
        person is no member; if there is none, the nearest: that one has to be merged.
        """
        while self.members >= k:
            control.raise_if_stopped()
            self.tidy()
            far = self.farthest(self.distances(self.centroid))
            positions, counts = self.nearest_records(self.distances(self.at[:, far]), k)
            if not self.singly and self._members_without(positions, counts) < k:
                break
            forming.add(self.names[positions], counts)
            self.take(positions, counts)
        if self.singly and len(forming) > first:
            self._join(forming, first)
        elif self.records:
            self.take_rest(forming)

    def _members_without(self, positions: NDArray[np.intp], counts: NDArray[np.int64]) -> int:
        whose, place = np.unique(self._whose[positions], return_inverse=True)
        taken = np.bincount(place, counts).astype(np.int64)
        return self._present - int(np.count_nonzero(taken == self._left[whose]))

    def _join(self, forming: Forming, first: int) -> None:
        points, clusters, counts = forming.entries(first)
        number = len(forming) - first
        sizes = np.bincount(clusters, counts)
        along = (self._space.along(dimension, points) for dimension in range(self._space.dimensions))
        centroids = np.stack([np.bincount(clusters, of * counts, number) / sizes for of in along])
        is_in: dict[int, NDArray[np.bool_]] = {}
        for position in np.flatnonzero(self.counts).tolist():
            name, left = self.names[[position]], int(self.counts[position])
            person = int(self._people[name[0]])
            if person not in is_in:
                is_in[person] = np.zeros(number, np.bool_)
                is_in[person][clusters[self._people[points] == person]] = True
            apart = np.square(centroids - self.at[:, [position]]).sum(axis=0)
            nearest = int(apart.argmin())
            apart[is_in[person]] = np.inf
            others = apart.argsort(kind="stable")[: min(left, int(np.count_nonzero(~is_in[person])))]
            for cluster in others.tolist():
                forming.extend(first + cluster, name, np.ones(1, np.int64))
            is_in[person][others] = True
            if left > len(others):
                forming.extend(first + nearest, name, np.array([left - len(others)]))
        self.take(np.flatnonzero(self.counts), self.counts[self.counts > 0])
