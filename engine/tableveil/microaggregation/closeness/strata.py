"""Records split into as many parts of a sensitive column as a cluster has records; a cluster takes one of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import Space


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Records by their points: `grid` has a row per stratum and as many columns as there will be clusters.

    `spare` has, per row, the records of the stratum beyond those.
    """

    grid: NDArray[np.intp]
    spare: dict[int, NDArray[np.intp]]

    @classmethod
    def of(cls, records: NDArray[np.intp], size: int) -> Strata:
        """Splits records that are in the order of the column into `size` strata; the middle ones get the remainder."""
        clusters, spare = divmod(len(records), size)
        more = np.zeros(size, np.intp)
        more[(size - 1) // 2] += (spare + 1) // 2
        more[size // 2] += spare // 2
        starts = np.cumsum(clusters + more) - (clusters + more)
        grid = records[starts[:, None] + np.arange(clusters)]
        rows = np.flatnonzero(more)
        ends = {int(row): int(starts[row] + clusters) for row in rows}
        return cls(grid, {row: records[end : end + more[row]] for row, end in ends.items()})

    def blocks(self, space: Space, most: int) -> Iterator[Strata]:
        """Strata of at most `most` records, or of one cluster: split by halves."""
        waiting = [self]
        while waiting:
            strata = waiting.pop()
            if strata.grid.size <= most or strata.grid.shape[1] == 1 or not space.dimensions:
                yield strata
            else:
                waiting.extend(reversed(strata._halves(space)))

    def _halves(self, space: Space) -> tuple[Strata, Strata]:
        """Splits each stratum at its own median of the coordinate that varies most, so that none runs short of records.

        The lower halves of all strata go together, and so do the upper ones, wherever the strata lie: near records stay
        together even if one stratum lies elsewhere.
        """
        along = space.along(int(space.at(self.grid.ravel()).var(axis=1).argmax()))
        clusters = self.grid.shape[1]
        half = clusters // 2
        order = np.argsort(along[self.grid], axis=1, kind="stable")
        grid = np.take_along_axis(self.grid, order, axis=1)
        left, right = grid[:, :half].copy(), grid[:, half:].copy()
        spare_left, spare_right = {}, {}
        for row, spare in self.spare.items():
            whole = np.concatenate((self.grid[row], spare))
            whole = whole[along[whole].argsort(kind="stable")]
            more = len(spare) * half // clusters
            lower, upper = whole[: half + more], whole[half + more :]
            left[row], right[row] = lower[:half], upper[: clusters - half]
            if more:
                spare_left[row] = lower[half:]
            if more < len(spare):
                spare_right[row] = upper[clusters - half :]
        return Strata(left, spare_left), Strata(right, spare_right)


class FormingStrata:
    """The records of strata that are in no cluster yet.

    The remaining records of a row come first in it, as many as clusters are still to be formed.
    """

    def __init__(self, space: Space, strata: Strata) -> None:
        self._space = space
        self._grid = strata.grid.copy()
        self._places = space.at(self._grid.ravel()).reshape(space.dimensions, *self._grid.shape)
        self._spare = dict(strata.spare)
        self._rows = np.arange(len(self._grid))
        self.clusters = self._grid.shape[1]
        """The number of clusters still to be formed."""

    def centroid(self) -> NDArray[np.float64]:
        """The mean of the remaining records."""
        left = self._places[:, :, : self.clusters]
        total = left.sum(axis=(1, 2))
        number = left[0].size
        for spare in self._spare.values():
            total += self._space.at(spare).sum(axis=1)
            number += len(spare)
        mean: NDArray[np.float64] = total / number
        return mean

    def farthest(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """The place of the record that is farthest from the given place."""
        squared = self._squared(place)
        row, column = divmod(int(squared.argmax()), self.clusters)
        best, farthest_place = squared[row, column], self._places[:, row, column].copy()
        for spare in self._spare.values():
            at = self._space.at(spare)
            apart = np.square(at - place[:, None]).sum(axis=0)
            if apart.max() > best:
                best, farthest_place = apart.max(), at[:, apart.argmax()]
        return farthest_place

    def taken(self, place: NDArray[np.float64]) -> NDArray[np.intp]:
        """Takes the nearest record of each stratum, and spare ones while there are any, by their points."""
        squared = self._squared(place)
        nearest = squared.argmin(axis=1)
        members: NDArray[np.intp] = self._grid[self._rows, nearest]
        last = self.clusters - 1
        # The last remaining record moves into the place of the taken one.
        self._grid[self._rows, nearest] = self._grid[:, last]
        self._places[:, self._rows, nearest] = self._places[:, :, last]
        if self._spare:
            members = np.concatenate((members, self._from_spare(place, members)))
        self.clusters = last
        return members

    def _from_spare(self, place: NDArray[np.float64], members: NDArray[np.intp]) -> NDArray[np.intp]:
        """Takes from the strata with more records than others; a member may be exchanged for a nearer record."""
        total = sum(len(spare) for spare in self._spare.values())
        # One for each cluster while there are any; more only where a block has more of them than clusters.
        due = -(-total // self.clusters)
        more: list[NDArray[np.intp]] = []
        for row, spare in list(self._spare.items()):
            taking = min(due, len(spare))
            due -= taking
            whole = np.concatenate(([members[row]], self._grid[row, : self.clusters - 1], spare))
            at = self._space.at(whole)
            order = np.square(at - place[:, None]).sum(axis=0).argsort(kind="stable")
            chosen, left = whole[order[: 1 + taking]], np.delete(whole, order[: 1 + taking])
            members[row] = chosen[0]
            more.append(chosen[1:])
            self._grid[row, : self.clusters - 1] = left[: self.clusters - 1]
            self._places[:, row, : self.clusters - 1] = self._space.at(left[: self.clusters - 1])
            self._spare[row] = left[self.clusters - 1 :]
            if not len(self._spare[row]):
                del self._spare[row]
        return np.concatenate(more)

    def _squared(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """The squared distances of the grid's remaining records, shape (strata, clusters)."""
        squared = np.zeros((len(self._grid), self.clusters))
        for along, at in zip(self._places, place.tolist(), strict=True):
            apart = along[:, : self.clusters] - at
            squared += np.square(apart, out=apart)
        return squared
