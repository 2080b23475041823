"""The common part of quality models whose score aggregates one value per quasi-identifier.

Why the bound holds: loss, entropy, precision and height are an aggregate of one value per quasi-identifier, monotone
in each value. So a table T of values that are not above those of x gives a score that is not above that of x. Each
model shows that T at the level of lo is at most its value at x, a valid transformation in [lo, hi].
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses
from tableveil.lattice import Transformation
from tableveil.quality.model import AssessedTransformation, Score, Table, WeightedAggregate


class TableEvidence:
    """A table T of the least cost of each attribute at each level or any above it, up to the checked level.

    Aggregates are monotone in every value, so T at lo's levels bounds all of [lo, hi]. `others` has the least costs of
    columns without levels.
    """

    def __init__(self, aggregation: WeightedAggregate, table: Table, others: tuple[float, ...] = ()) -> None:
        self._aggregation = aggregation
        self._table = table
        self._rows = [column.tolist() for column in table]
        self._others = others

    @property
    def guide(self) -> Table:
        """The table times the weights."""
        weights = self._aggregation.weights[: len(self._table)]
        return tuple(column * weight for column, weight in zip(self._table, weights, strict=True))

    def bound(self, lo: Transformation) -> Score:
        """The aggregate of the table's values at lo."""
        values = [row[level] for row, level in zip(self._rows, lo, strict=True)]
        return self._aggregation.score([*values, *self._others])


class Separable(ABC):
    """A quality model made of `values`, one per quasi-identifier, their bounds in a `table`, and an aggregate."""

    bounds_by_classes: bool = False

    def __init__(self, aggregation: WeightedAggregate) -> None:
        self.aggregation = aggregation

    @abstractmethod
    def values(self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]) -> tuple[float, ...]:
        """The value of each quasi-identifier if exactly the classes of the mask are kept."""

    @abstractmethod
    def bounds(self, check: Check) -> Table:
        """Per quasi-identifier and level, its least cost at any valid x <= check.at of this level or above.

        Entries above the level in `check.at` mean nothing.
        """

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The aggregate of the values."""
        values = self.values(at, classes, kept)
        return AssessedTransformation(self.aggregation.score(values), values)

    def evidence(self, check: Check) -> TableEvidence:
        """The table of bounds."""
        return TableEvidence(self.aggregation, self.bounds(check))

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """Offers no bound, unless a model overrides this: the table bounds attribute by attribute."""
        raise NotImplementedError

    def reported(self, score: Score) -> float:
        """The score as users know it."""
        return self.aggregation.reported(score)


def least_from(column: NDArray[np.float64], top: int) -> NDArray[np.float64]:
    """Per level up to `top`, the least entry from there to `top`; entries above `top` stay."""
    least = column.copy()
    least[: top + 1] = np.minimum.accumulate(column[top::-1])[::-1]
    return least
