"""The demands of t-closeness on clusters: how far each may be from the whole table, in the columns that models name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, SensitiveColumn
from tableveil.policy import PrivacyModel, TCloseness
from tableveil.privacy.distances import EARTH_MOVERS, Distributions, EarthMover
from tableveil.privacy.distances.model import difference, products

LEAST = float(np.finfo(np.float64).tiny)
"""Stands for an excess that is too small for floats."""


@dataclass(frozen=True, slots=True, eq=False)
class ClosenessTarget:
    """Clusters may be at most `t` away from the whole table, in the sensitive column of that position."""

    position: int
    model: TCloseness
    mover: EarthMover
    t: Fraction

    def excess(self, values: ClassValues, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Per cluster its distance less t; whole numbers decide whether it is above 0, so not t-close."""
        compared = self.mover.against(values, sizes)
        # `work` would go one by one through all values, which takes long for few clusters of many values.
        work = difference(compared, self.mover.shares(compared), self.mover.unit)
        excess = np.asarray(work / products(sizes, compared.records, self.mover.unit), np.float64) - float(self.t)
        beyond = np.asarray(work > self.mover.most(compared, self.t), np.bool_)
        return np.where(beyond, np.maximum(excess, LEAST), np.minimum(excess, 0.0))


def targets_of(models: Iterable[PrivacyModel], sensitive: Sequence[SensitiveColumn]) -> tuple[ClosenessTarget, ...]:
    """The targets of those models that are of t-closeness."""
    positions = {column.column: position for position, column in enumerate(sensitive) if column.protected}
    targets = []
    for model in models:
        if isinstance(model, TCloseness):
            column = sensitive[positions[model.column]]
            mover = EARTH_MOVERS[model.distance](column, Distributions.whole(column.counts))
            targets.append(ClosenessTarget(positions[model.column], model, mover, Fraction(model.t)))
    return tuple(targets)


def worst_excess(
    targets: Sequence[ClosenessTarget], values: Sequence[ClassValues], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Per cluster the greatest excess over the targets, given the clusters' values by sensitive column.

    With several columns, this orders clusters from bad to worse: by their distance beyond the permitted one.
    """
    excess = targets[0].excess(values[targets[0].position], sizes)
    for target in targets[1:]:
        np.maximum(excess, target.excess(values[target.position], sizes), out=excess)
    return excess


def least_size(targets: Sequence[ClosenessTarget], k: int) -> int:
    """K, or the least number of records of which some can be within all targets, if that is more."""
    return max(k, *(target.mover.smallest(target.t) for target in targets))
