"""Precision: the level of each quasi-identifier divided by its highest one.

Why the bound holds: the value is linear in the number of suppressed records, which is from those in too small classes
at hi to the most that may be. So it is least at one end: at the latter where suppression is cheaper than the level
(factor below 1/2).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation
from tableveil.policy import PrecisionModel
from tableveil.quality.model import Factors, Table, WeightedAggregate
from tableveil.quality.separable import Separable, least_from


class Precision(Separable):
    """Per quasi-identifier: value_j = ((N - S) * g * level / highest level + S * s)/N.

    N counts all records and S the suppressed and withheld ones; g and s are the factors of generalization and
    suppression.
    Source: Sweeney 2002, section 4.3, there as 1 minus the arithmetic mean; with suppression and factors as in ARX.
    """

    def __init__(
        self,
        model: PrecisionModel,
        levels: Sequence[AttributeLevels],
        weights: Sequence[float],
        records: int,
        withheld: int,
        suppressible: int,
    ) -> None:
        """At most `suppressible` of the records may be suppressed, including withheld ones."""
        super().__init__(WeightedAggregate(model.aggregate, tuple(weights)))
        factors = Factors.of(model.factor)
        self._monotone = model.monotone
        self._suppression = factors.suppression
        self._kept = tuple(
            factors.generalization * np.arange(attribute.top + 1) / max(attribute.top, 1) for attribute in levels
        )
        self._records = records
        self._withheld = withheld
        self._suppressible = suppressible

    def values(self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]) -> tuple[float, ...]:
        """The share of the hierarchy climbed per quasi-identifier, if exactly the classes of the mask are kept."""
        suppressed = self._withheld if self._monotone else self._records - int(classes.counts[kept].sum())
        return tuple(float(self._values(j, suppressed)[level]) for j, level in enumerate(at))

    def bounds(self, check: Check) -> Table:
        """The values with the number of suppressed records that makes them least: the smallest or the largest possible.

        They grow with the level, apart from rounding.
        """
        fewest, most = (self._withheld,) * 2 if self._monotone else (check.below, self._suppressible)
        return tuple(
            least_from(np.minimum(self._values(j, fewest), self._values(j, most)), level)
            for j, level in enumerate(check.at)
        )

    def _values(self, j: int, suppressed: int) -> NDArray[np.float64]:
        # In this form, rounding keeps the order by the number of suppressed records, so that the bounds are bounds.
        kept = self._kept[j]
        values: NDArray[np.float64] = (self._records * kept + suppressed * (self._suppression - kept)) / max(
            self._records, 1
        )
        return values
