"""Sums of the records' costs in one attribute, over sets of records that are known by their marginals."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import LevelMaps, Marginals
from tableveil.hierarchy import AttributeLevels
from tableveil.numeric.rounding import SLACK, weighted_sum


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
