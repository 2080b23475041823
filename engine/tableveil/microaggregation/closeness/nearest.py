"""The nearest among places that come and go, as clusters do while they are merged."""

import numpy as np
from numpy.typing import NDArray

RECENT = 512
"""The most places added since the tree was built: up to that all are looked at, beyond it the tree is rebuilt."""

FIRST = 4
"""The number of places asked from the tree at first; it is multiplied by itself while all places found are gone."""


class Nearest:
    """Places numbered in the order in which they come, at most twice as many as at first.

    A kd-tree holds the places that were there when it was built, including those that are gone. Among equally near
    places, the tree alone decides: the same sequence of places gives the same answers.
    """

    def __init__(self, places: NDArray[np.float64]) -> None:
        number, dimensions = places.shape
        self.places = np.empty((2 * number, dimensions))
        self.places[:number] = places
        self.there = np.zeros(2 * number, np.bool_)
        self.there[:number] = True
        self._ones = np.ones(dimensions)
        self.number = number
        """The number of places that have come so far."""
        self._build()

    def come(self, place: NDArray[np.float64]) -> int:
        """Adds a place and returns its number."""
        number = self.number
        self.places[number], self.there[number] = place, True
        self.number += 1
        if self.number - self._since > RECENT:
            self._build()
        return number

    def go(self, number: int) -> None:
        """Removes a place."""
        self.there[number] = False

    def nearest(self, place: NDArray[np.float64]) -> int:
        """The number of the nearest remaining place; there must be one."""
        inside, apart = self._in_tree(place)
        recent = slice(self._since, self.number)
        if self._since < self.number:
            squared = np.square(self.places[recent] - place) @ self._ones
            squared[~self.there[recent]] = np.inf
            best = int(squared.argmin())
            if squared[best] < apart:
                return self._since + best
        return inside

    def _build(self) -> None:
        self._numbers = np.flatnonzero(self.there[: self.number])
        # Loading scipy takes longer than most commands.
        from scipy.spatial import cKDTree

        self._tree = cKDTree(self.places[self._numbers], balanced_tree=False, compact_nodes=False)
        self._since = self.number

    def _in_tree(self, place: NDArray[np.float64]) -> tuple[int, float]:
        """The nearest remaining place in the tree, and its squared distance; infinite if there is none."""
        asked = FIRST
        while True:
            asked = min(asked, len(self._numbers))
            distances, nearest_places = self._tree.query(place, asked)
            numbers = self._numbers[np.atleast_1d(nearest_places)]
            there = self.there[numbers]
            first = int(there.argmax())
            if there[first]:
                return int(numbers[first]), float(np.atleast_1d(distances)[first]) ** 2
            if asked == len(self._numbers):
                return -1, np.inf
            asked *= FIRST
