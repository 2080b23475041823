"""The common part of quality models whose score aggregates one value per quasi-identifier.

Why the bound holds: loss, entropy, precision and height are an aggregate of one value per quasi-identifier, monotone
in each value. So a table T of values that are not above those of x gives a score that is not above that of x. Each
model shows that T at the level of lo is at most its value at x, a valid transformation in [lo, hi].
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses, LevelMaps, Marginals
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import SLACK, weighted_sum
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


class RecordCosts:
    """A record has the cost of its group at a level; `of_all[j][level]` is the sum over all records not withheld."""

    def __init__(
        self,
        levels: Sequence[AttributeLevels],
        marginals: Marginals,
        of_groups: Callable[[AttributeLevels, int], NDArray[np.float64]],
    ) -> None:
        """`of_groups` gives the cost of a record per group of a level; `marginals` holds all records, per code."""
        self._maps = LevelMaps(levels)
        self._costs = tuple([of_groups(attribute, level) for level in range(attribute.top + 1)] for attribute in levels)
        self._dearest: dict[tuple[int, int, int], NDArray[np.float64]] = {}
        self.of_all = self.at_most(marginals)

    def at(self, j: int, level: int) -> NDArray[np.float64]:
        """The cost of a record per group of the level."""
        return self._costs[j][level]

    def at_most(self, records: Marginals) -> tuple[NDArray[np.float64], ...]:
        """Per attribute and level, an upper bound of the sum over the records.

        Below the level in `records.at` only their groups there are known: each record is assumed to have the cost of
        the most expensive one of its group, so that the entry is at least the sum.
        """
        return tuple(
            np.array([weighted_sum(counts, self._by_group(j, at, level)) for level in range(len(self._costs[j]))])
            for j, (at, counts) in enumerate(zip(records.at, records.counts, strict=True))
        )

    def of_others_at_least(self, records: Marginals) -> tuple[NDArray[np.float64], ...]:
        """Per attribute and level, a lower bound of the sum over all records but these."""
        return tuple(
            # The error of the difference is that of its two terms.
            np.maximum(of_all * (1.0 - SLACK) - of_records, 0.0)
            for of_all, of_records in zip(self.of_all, self.at_most(records), strict=True)
        )

    def _by_group(self, j: int, at: int, level: int) -> NDArray[np.float64]:
        if (j, at, level) not in self._dearest:
            costs = self._costs[j][level]
            if level >= at:
                by_group = costs[self._maps.between(j, at, level)]
            else:
                by_group = np.zeros(self._maps.size(j, at))
                np.maximum.at(by_group, self._maps.between(j, level, at), costs)
            self._dearest[j, at, level] = by_group
        return self._dearest[j, at, level]
