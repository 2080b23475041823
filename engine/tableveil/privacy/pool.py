"""The suppressed records as one class: their state when their sensitive values are released without labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, ClassValues, EquivalenceClasses, KeyLayout


@dataclass(frozen=True, slots=True, eq=False)
class _PoolDetails:
    """Details of one class: any person without a released record may be in it."""

    left: tuple[ClassValues, ...]
    anybody: int

    @property
    def nbytes(self) -> int:
        return sum(values.counts.nbytes for values in self.left)

    def values(self, attribute: int) -> ClassValues:
        return self.left[attribute]

    def population(self) -> NDArray[np.int64]:
        return np.array([self.anybody], np.int64)

    def population_only(self) -> int:
        return 0

    def selected(self, mask: NDArray[np.bool_]) -> _PoolDetails:
        return self


@dataclass(frozen=True, slots=True, eq=False)
class _JoinedDetails:
    """Details of some classes and the pool, which comes last."""

    released: EquivalenceClasses
    pool: EquivalenceClasses

    @property
    def nbytes(self) -> int:
        return 0

    def values(self, attribute: int) -> ClassValues:
        these, those = self.released.values(attribute), self.pool.values(attribute)
        return ClassValues(
            np.append(these.classes, those.classes + len(self.released.counts)),
            np.append(these.values, those.values),
            np.append(these.counts, those.counts),
        )

    def population(self) -> NDArray[np.int64]:
        return np.append(self.released.population(), self.pool.population())

    def population_only(self) -> int:
        return self.released.population_only()

    def selected(self, mask: NDArray[np.bool_]) -> _JoinedDetails:
        raise NotImplementedError("they are judged together")


def with_pool(released: EquivalenceClasses, pool: EquivalenceClasses) -> EquivalenceClasses:
    """The released classes and the pool, for code that looks at sizes, values and the population only.

    The pool's key differs from those of the classes.
    """
    return EquivalenceClasses(
        released.layout,
        tuple(np.append(word, -1) for word in released.words),
        np.append(released.counts, pool.counts),
        released.at,
        _JoinedDetails(released, pool),
    )


def suppressed_pool(counter: ClassCounter, classes: EquivalenceClasses, kept: NDArray[np.bool_]) -> EquivalenceClasses:
    """The records of the source outside the kept classes, withheld ones included, as a class; there is at least one.

    The class stands at the most general transformation: it has no labels, so any person without a released record may
    be in it.
    """
    released = classes.selected(kept)
    left = []
    for position, column in enumerate(counter.sensitive):
        values = released.values(position)
        counts = column.counts.copy()
        np.subtract.at(counts, values.values, values.counts)
        codes = np.flatnonzero(counts)
        left.append(ClassValues(np.zeros(len(codes), np.intp), codes.astype(np.intp), counts[codes]))
    top = tuple(levels.top for levels in counter.levels)
    suppressed = counter.records - int(released.counts.sum())
    anybody = 0 if counter.population is None else counter.population - int(released.population().sum())
    return EquivalenceClasses(
        KeyLayout.of([1] * len(top)),
        (np.zeros(1, np.int64),),
        np.array([suppressed], np.int64),
        top,
        _PoolDetails(tuple(left), anybody),
    )
