"""Height: the sum of all levels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation
from tableveil.policy import HeightModel
from tableveil.quality.model import Table, WeightedAggregate
from tableveil.quality.separable import Separable


class Height(Separable):
    """Per quasi-identifier: value_j = level; suppressed records cost nothing.

    Source: Samarati 2001, section 4.
    """

    def __init__(self, model: HeightModel, levels: Sequence[AttributeLevels], weights: Sequence[float]) -> None:
        super().__init__(WeightedAggregate(model.aggregate, tuple(weights)))
        self._table = tuple(np.arange(attribute.top + 1, dtype=np.float64) for attribute in levels)

    def values(self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]) -> tuple[float, ...]:
        """The levels."""
        return tuple(map(float, at))

    def bounds(self, check: Check) -> Table:
        """The levels, whichever transformation was checked."""
        return self._table
