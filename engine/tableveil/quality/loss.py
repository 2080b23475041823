"""Loss: the share of each hierarchy's domain that a released label covers (Iyengar 2002)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses, LevelMaps
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation
from tableveil.policy import LossModel
from tableveil.quality.aggregate import Aggregation, Score


class Loss:
    """Per quasi-identifier j: value_j = (1/N) * sum over records of (kept ? (leaves - 1) / (|H_j| - 1) : 1).

    N counts all records, suppressed and withheld ones too. For continuous hierarchies the share is width / range.
    Source: Iyengar 2002, section 3; design.md, Formulas.
    """

    def __init__(
        self,
        model: LossModel,
        levels: Sequence[AttributeLevels],
        weights: Sequence[float],
        marginals: Sequence[NDArray[np.int64]],
        withheld: int,
    ) -> None:
        """`marginals` holds, per quasi-identifier, the records per code that are not withheld."""
        self.aggregation = Aggregation(model.aggregate, tuple(weights))
        self._levels = tuple(levels)
        self._withheld = withheld
        self._records = int(marginals[0].sum()) + withheld
        # Costs are in units of 1 / whole: for discrete hierarchies whole numbers, whose sums float64 holds exactly, so
        # that a bound and a score made of the same records are the same number.
        self._whole = tuple(_whole(attribute) for attribute in levels)
        self._maps = LevelMaps(levels)
        self._kept_cost = tuple(
            np.array([_costs(attribute, level)[groups] @ counts for level, groups in enumerate(attribute.groups)])
            for attribute, counts in zip(levels, marginals, strict=True)
        )

    def table(self, suppressed: Sequence[NDArray[np.int64]], floor: Transformation) -> tuple[NDArray[np.float64], ...]:
        """Per quasi-identifier and level, its loss at that level if exactly the given records were suppressed.

        `suppressed` counts records per group at the quasi-identifier's level in `floor`, the withheld ones not included;
        entries of levels below `floor` are NaN. If these are the records in classes below the implied minimum size at
        y, the entry for a level bounds the loss of every transformation <= y that has this level, because those records
        are in such classes there too (design.md, Searching 1b).
        """
        return tuple(self._column(j, gone, low) for j, (gone, low) in enumerate(zip(suppressed, floor, strict=True)))

    def _column(self, j: int, gone: NDArray[np.int64], low: int) -> NDArray[np.float64]:
        attribute, whole = self._levels[j], self._whole[j]
        losses = np.full(attribute.top + 1, np.nan)
        lost = (float(gone.sum()) + self._withheld) * whole
        for level in range(low, attribute.top + 1):
            saved = _costs(attribute, level)[self._maps.between(j, low, level)] @ gone
            losses[level] = (self._kept_cost[j][level] - saved + lost) / (whole * max(self._records, 1))
        return losses

    def values(
        self, transformation: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> tuple[float, ...]:
        """Loss per quasi-identifier at the transformation if the classes of the mask are kept, the others suppressed."""
        suppressed = self._records - int(classes.counts[kept].sum())
        values = []
        for j, (attribute, level, whole) in enumerate(zip(self._levels, transformation, self._whole, strict=True)):
            leaves = attribute.leaves[level]
            per_group = np.bincount(classes.groups(j)[kept], weights=classes.counts[kept], minlength=len(leaves))
            cost = float(_costs(attribute, level) @ per_group) + suppressed * whole
            values.append(cost / (whole * max(self._records, 1)))
        return tuple(values)

    def score(self, values: Sequence[float]) -> Score:
        """The comparable score of one value per quasi-identifier."""
        return self.aggregation.score(values)

    def reported(self, score: Score) -> float:
        """The score as users know it."""
        return self.aggregation.reported(score)


def _whole(attribute: AttributeLevels) -> float:
    """What the cost of one record is divided by to give a share: |H| - 1, or the width of the range."""
    whole = attribute.domain_size if attribute.continuous else attribute.domain_size - 1.0
    # |H| = 1: every cost is 0, and only suppression costs anything.
    return whole if whole > 0 else 1.0


def _costs(attribute: AttributeLevels, level: int) -> NDArray[np.float64]:
    return attribute.leaves[level] - (0.0 if attribute.continuous else 1.0)

