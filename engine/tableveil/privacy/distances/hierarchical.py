"""Hierarchical ground distance: two values are as far apart as one must climb in the hierarchy until they meet."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, SensitiveColumn
from tableveil.hierarchy import AttributeLevels
from tableveil.privacy.distances import model


class HierarchicalDistance(model.EarthMover):
    """The ground distance is the lowest level at which both have one label, divided by the top (Li et al. 2007, 5.2).

    Two values differ at each level below the one where they meet. So their distance is the share of the levels below
    the top at which they differ. The earth mover's distance is the mean over these levels of the equal distance between
    groups: a tree lets every level be solved by itself, since mass that need not leave a group moves within it.
    """

    def __init__(self, column: SensitiveColumn, distributions: model.Distributions) -> None:
        super().__init__(column, distributions)
        assert column.levels is not None, f"{column.column} has no hierarchy"
        self._levels: AttributeLevels = column.levels

    @property
    def unit(self) -> int:
        """The number of levels below the top."""
        return max(self._levels.top, 1)

    @cached_property
    def _rolled(self) -> list[model.Distributions]:
        number, whole = len(self.distributions.sizes), self.distributions
        return [
            model.Distributions(self._grouped(level, whole.values, number), whole.sizes, whole.complete)
            for level in range(self._levels.top)
        ]

    def shares(self, compared: model.ComparedClasses) -> model.Shares:
        """The sums of the equal distance's shares over the levels."""
        number = len(compared.sizes)
        own, others = np.zeros(number, np.int64), np.zeros(number, np.int64)
        for level, distributions in enumerate(self._rolled):
            values = self._grouped(level, compared.values, number)
            grouped = model.ComparedClasses(values, values.starts, compared.sizes, compared.of, compared.records)
            more, than = model.above(grouped, distributions)
            own += more
            others += than
        return own, others

    def sides(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each group of a level below the top is a side."""
        levels = []
        for groups, leaves in zip(self._levels.groups[:-1], self._levels.leaves[:-1], strict=True):
            level = np.zeros((len(leaves), len(table)), np.int64)
            np.add.at(level, groups, table.T)
            levels.append(level.T)
        return np.concatenate(levels, axis=1) if levels else table[:, :0]

    def least_work(self, size: int) -> int:
        """The sum over the levels, each computed by itself."""
        return sum(model.overshoot(level.values.counts, size) for level in self._rolled)

    def _grouped(self, level: int, values: ClassValues, number: int) -> ClassValues:
        groups = self._levels.groups[level]
        if level == 0:
            return values
        width = len(self._levels.leaves[level])
        return model.merged(values.classes, groups[values.values].astype(np.intp), values.counts, (number, width))
