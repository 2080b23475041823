"""The suppressed records as one class: what they are when their sensitive values are released without labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, ClassValues, EquivalenceClasses, KeyLayout


@dataclass(frozen=True, slots=True, eq=False)
class _PoolDetails:
    """Of one class, in which anybody could be who is in no released one."""

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
    """Of some classes and the pool, which comes last."""

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
    """The released classes and the pool beside them, for what looks at sizes, values and the population only.

    The pool's key is none of these classes'.
    """
    return EquivalenceClasses(
        released.layout,
        tuple(np.append(word, -1) for word in released.words),
        np.append(released.counts, pool.counts),
        released.at,
        _JoinedDetails(released, pool),
    )


def suppressed_pool(counter: ClassCounter, classes: EquivalenceClasses, kept: NDArray[np.bool_]) -> EquivalenceClasses:
    """The records of the source that are in none of the kept classes, withheld ones included: at least one, as a class.

    It stands at the most general transformation: without labels, anybody could be in it who is in no released class.
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
