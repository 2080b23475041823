"""Loss: the share of each hierarchy's domain that a released label covers (Iyengar 2002)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses, LevelMaps, Marginals
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation
from tableveil.policy import LossModel
from tableveil.quality.aggregate import Aggregation, Score
from tableveil.quality.model import Assessment, Table
from tableveil.quality.separable import TableEvidence


class Loss:
    """Per quasi-identifier j: value_j = (1/N) * sum over records of (kept ? (leaves - 1) / (|H_j| - 1) : 1).

    N counts all records, suppressed and withheld ones too. For continuous hierarchies the share is width / range.
    Source: Iyengar 2002, section 3.
    """

    def __init__(
        self,
        model: LossModel,
        levels: Sequence[AttributeLevels],
        weights: Sequence[float],
        marginals: Marginals,
        withheld: int,
    ) -> None:
        """`marginals` holds the records that are not withheld, per code."""
        self.aggregation = Aggregation(model.aggregate, tuple(weights))
        self._levels = tuple(levels)
        self._withheld = withheld
        self._records = int(marginals.counts[0].sum()) + withheld
        # Costs are in units of 1 / whole: for discrete hierarchies whole numbers, whose sums float64 holds exactly, so
        # that a bound and a score made of the same records are the same number.
        self._whole = tuple(_whole(attribute) for attribute in levels)
        self._maps = LevelMaps(levels)
        self._kept_cost = tuple(
            np.array([_costs(attribute, level)[groups] @ counts for level, groups in enumerate(attribute.groups)])
            for attribute, counts in zip(levels, marginals.counts, strict=True)
        )
        # What the dearest kept record of a group costs at a level, by attribute, the group's level, and the level.
        self._dearest: dict[tuple[int, int, int], NDArray[np.float64]] = {}

    bounds_by_classes = False

    def evidence(self, check: Check) -> TableEvidence:
        """The table for the records in classes below the minimum size."""
        return TableEvidence(self.aggregation, self.table(check.marginals))

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """Offers nothing: loss is bounded attribute by attribute."""
        raise NotImplementedError

    def assess(self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]) -> Assessment:
        """The loss at the transformation if exactly the classes of the mask are kept."""
        values = self.values(at, classes, kept)
        return Assessment(self.aggregation.score(values), values)

    def table(self, suppressed: Marginals) -> Table:
        """Per quasi-identifier and level, a lower bound of its loss there if exactly these records were suppressed.

        It is that loss itself from the level of `suppressed.at` on. Below, only the groups of the suppressed records
        are known, and each is taken to save as much as the dearest record of its group would cost.

        If these are the records in classes below the implied minimum size at y, the entry for a level bounds the loss
        of every transformation <= y that has this level or a higher one, because those records are in such classes
        there too and loss grows with the level.
        """
        return tuple(
            self._column(j, gone, at) for j, (gone, at) in enumerate(zip(suppressed.counts, suppressed.at, strict=True))
        )

    def _column(self, j: int, gone: NDArray[np.int64], at: int) -> NDArray[np.float64]:
        whole = self._whole[j]
        saved = np.array([self._cost_by_group(j, at, level) @ gone for level in range(self._levels[j].top + 1)])
        lost = (float(gone.sum()) + self._withheld) * whole
        losses: NDArray[np.float64] = (self._kept_cost[j] - saved + lost) / (whole * max(self._records, 1))
        return losses

    def _cost_by_group(self, j: int, at: int, level: int) -> NDArray[np.float64]:
        """Per group at `at`: what a kept record costs at `level`, or at most costs if `level` is below."""
        if (j, at, level) not in self._dearest:
            costs = _costs(self._levels[j], level)
            if level >= at:
                by_group = costs[self._maps.between(j, at, level)]
            else:
                by_group = np.zeros(len(self._levels[j].leaves[at]))
                np.maximum.at(by_group, self._maps.between(j, level, at), costs)
            self._dearest[j, at, level] = by_group
        return self._dearest[j, at, level]

    def values(
        self, transformation: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> tuple[float, ...]:
        """Loss per quasi-identifier at the transformation if exactly the classes of the mask are kept."""
        suppressed = self._records - int(classes.counts[kept].sum())
        values = []
        for j, (attribute, level, whole) in enumerate(zip(self._levels, transformation, self._whole, strict=True)):
            leaves = attribute.leaves[level]
            per_group = np.bincount(classes.groups(j)[kept], weights=classes.counts[kept], minlength=len(leaves))
            cost = float(_costs(attribute, level) @ per_group) + suppressed * whole
            values.append(cost / (whole * max(self._records, 1)))
        return tuple(values)

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
