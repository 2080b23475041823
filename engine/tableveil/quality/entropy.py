"""Non-uniform entropy: the bits that generalization takes from each quasi-identifier.

Why the bound holds: at one level, adding records to the suppressed only adds bits, since entropy is concave. So the
table holds level by level. The bits of generalization grow with the level, those of suppression fall, by less if
suppression counts no more than generalization. If it counts more the sum may fall, and the least entry up to hi is
taken.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses, LevelMaps, Marginals
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import rounded, rounded_down
from tableveil.policy import EntropyModel
from tableveil.quality.model import Counts, Factors, Table, WeightedAggregate, bits, bits_lost
from tableveil.quality.separable import Separable, least_from


class Entropy(Separable):
    """Per quasi-identifier: g * sum over all records of log2(f(l)/f(0)) + s * sum over suppressed ones of log2(S/s(l)).

    f(l) is the number of records with the record's label at the transformation's level, f(0) at level 0, both among all
    records; s(l) is the number among the S suppressed records; g and s are the factors of generalization and
    suppression. If normalized, the result is divided by g * sum over records of log2(N/f(0)), without g where it is 0;
    it is 0 if there is nothing to lose. Withheld records have one extra value, which is suppressed and never
    generalized.
    Source: de Waal and Willenborg 1999; Prasser, Bild, Kuhn 2016; computed as ARX does.
    """

    def __init__(
        self,
        model: EntropyModel,
        levels: Sequence[AttributeLevels],
        weights: Sequence[float],
        marginals: Marginals,
        withheld: int,
    ) -> None:
        """`marginals` holds the records that are not withheld, per code."""
        super().__init__(WeightedAggregate(model.aggregate, tuple(weights)))
        factors = Factors.of(model.factor)
        self._suppression = 0.0 if model.monotone else factors.suppression
        self._withheld = withheld
        self._maps = LevelMaps(levels)
        self._levels = tuple(levels)
        self._generalized = tuple(
            factors.generalization * np.array([bits_lost(counts, groups) for groups in attribute.groups])
            for attribute, counts in zip(levels, marginals.counts, strict=True)
        )
        self._whole = tuple(
            (bits(np.append(counts, withheld)) * (factors.generalization or 1.0) or 1.0) if model.normalized else 1.0
            for counts in marginals.counts
        )

    def values(self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]) -> tuple[float, ...]:
        """The bits lost per quasi-identifier, or their share, if exactly the classes of the mask are kept."""
        counts = classes.counts[~kept]
        values = []
        for j, level in enumerate(at):
            gone = np.bincount(classes.groups(j)[~kept], counts, self._maps.size(j, level))
            values.append(float(self._generalized[j][level]) + self._suppressed(gone))
        return tuple(rounded(value / whole) for value, whole in zip(values, self._whole, strict=True))

    def bounds(self, check: Check) -> Table:
        """The bits lost if exactly the records in classes below the minimum size were suppressed.

        Where suppression counts more than generalization, the bits may fall with the level: the least up to the checked
        level counts.
        """
        if self._suppression == 0.0:
            return tuple(
                rounded_down(column / whole) for column, whole in zip(self._generalized, self._whole, strict=True)
            )
        return tuple(
            rounded_down(least_from(self._column(j, gone, at), check.at[j]) / self._whole[j])
            for j, (gone, at) in enumerate(zip(check.marginals.counts, check.marginals.at, strict=True))
        )

    def _column(self, j: int, gone: NDArray[np.int64], at: int) -> NDArray[np.float64]:
        # Finer labels of the same records have more bits, so the bits at `at` are a lower bound below it.
        suppressed = [
            self._suppressed(
                np.bincount(self._maps.between(j, at, max(level, at)), gone, self._maps.size(j, max(level, at)))
            )
            for level in range(self._levels[j].top + 1)
        ]
        return self._generalized[j] + suppressed

    def _suppressed(self, gone: Counts) -> float:
        """The cost of suppressing so many records of each group."""
        return self._suppression * bits(np.append(gone, self._withheld))
