"""The natural supersets of classes: the classes that contain them at more general transformations, with values."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, ClassValues, EquivalenceClasses, LevelMaps, nest
from tableveil.lattice import Transformation
from tableveil.privacy.distances.model import merged


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """All classes at a transformation, suppressed records included, and how they spread over a sensitive column."""

    classes: EquivalenceClasses
    values: ClassValues
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, classes: EquivalenceClasses, values: ClassValues) -> Spread:
        """The classes' details are dropped, since these hold on to the arrays that they were counted from."""
        return cls(EquivalenceClasses(classes.layout, classes.words, classes.counts, classes.at), values, values.starts)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.values.classes, self.values.values, self.values.counts, self.starts, self.classes.counts)
        return sum(array.nbytes for array in (*arrays, *self.classes.words))

    def chosen(self, positions: NDArray[np.intp]) -> ClassValues:
        """The values of these classes, in this order."""
        ends = np.append(self.starts, len(self.values.classes))
        lengths = ends[positions + 1] - ends[positions]
        before = np.cumsum(lengths) - lengths
        entries = np.repeat(ends[positions] - before, lengths) + np.arange(int(lengths.sum()))
        number = np.repeat(np.arange(len(positions)), lengths)
        return ClassValues(number, self.values.values[entries], self.values.counts[entries])


class Supersets:
    """Rolls classes up from the nearest finer ones that are remembered, within `budget` bytes."""

    def __init__(self, counter: ClassCounter, attribute: int, budget: int) -> None:
        self._counter = counter
        self._attribute = attribute
        self._budget = budget
        self._maps = LevelMaps(counter.levels)
        self._width = len(counter.sensitive[attribute].counts)
        self._spreads: OrderedDict[Transformation, Spread] = OrderedDict()
        self._bytes = 0

    def at(self, y: Transformation, x: Transformation) -> Spread:
        """The classes at y >= x; those at x are counted if they are not remembered."""
        remembered = self._spreads.get(y)
        if remembered is not None:
            self._spreads.move_to_end(y)
            return remembered
        return self._remembered(y, self._counted(y) if y == x else self._rolled_up(self._nearest(y, x), y))

    def holding(self, classes: EquivalenceClasses, y: Transformation, at: Spread) -> NDArray[np.intp]:
        """Per class the number of the class at y that contains it."""
        nested = nest(classes, classes.at, y, self._maps)
        positions = _positions(at.classes.words, nested.classes.words)
        return positions[nested.parent]

    def _counted(self, x: Transformation) -> Spread:
        classes = self._counter.classes(x)
        return Spread.of(classes, classes.values(self._attribute))

    def _nearest(self, y: Transformation, x: Transformation) -> Spread:
        """Among the remembered ones one level below that are above x, the one with the fewest entries; else x."""
        below = [(*y[:j], level - 1, *y[j + 1 :]) for j, level in enumerate(y) if level > x[j]]
        remembered = [self._spreads[z] for z in below if z in self._spreads]
        return min(remembered, key=lambda spread: len(spread.values.counts)) if remembered else self.at(x, x)

    def _rolled_up(self, finer: Spread, y: Transformation) -> Spread:
        nested = nest(finer.classes, finer.classes.at, y, self._maps)
        values = finer.values
        shape = (len(nested.classes.counts), self._width)
        together = merged(nested.parent[values.classes], values.values, values.counts, shape)
        return Spread.of(nested.classes, together)

    def _remembered(self, y: Transformation, spread: Spread) -> Spread:
        self._spreads[y] = spread
        self._bytes += spread.nbytes
        while self._bytes > self._budget and len(self._spreads) > 1:
            _, forgotten = self._spreads.popitem(last=False)
            self._bytes -= forgotten.nbytes
        return spread


def _positions(known: tuple[NDArray[np.int64], ...], words: tuple[NDArray[np.int64], ...]) -> NDArray[np.intp]:
    """The place of each key among the known ones, which are in order."""
    ranks = np.zeros(len(known[0]) + len(words[0]), np.int64)
    for word in zip(known, words, strict=True):
        if len(known) == 1:
            return np.searchsorted(*word).astype(np.intp)
        _, number = np.unique(np.concatenate(word), return_inverse=True)
        # Renumbered after each word, so that the product of two ranks fits.
        _, ranks = np.unique(ranks * (int(number.max(initial=0)) + 1) + number, return_inverse=True)
    return np.searchsorted(ranks[: len(known[0])], ranks[len(known[0]) :]).astype(np.intp)
