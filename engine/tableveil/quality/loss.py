"""Loss: the share of each hierarchy's domain that a released label covers (Iyengar 2002).

Why the bound holds: a kept record costs g * (leaves - 1) / (|H| - g), a suppressed one that share + s * (1 - share);
g and s are the factors of generalization and suppression. Both grow with the level, and the second is never below the
first. The records in too small classes at hi are suppressed at every finer x, and maybe more; the level of x is not
below that of lo.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import AggregatedColumn
from tableveil.classes import Check, EquivalenceClasses, LevelMaps, Marginals, nest
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import rounded, rounded_down, weighted_sum
from tableveil.policy import LossModel
from tableveil.quality.aggregated_error import AggregatedError
from tableveil.quality.model import Factors, Score, Table, WeightedAggregate
from tableveil.quality.separable import RecordCosts, Separable, TableEvidence

EXACT = 2.0**53
"""Whole numbers up to this one are exact in float64."""


class Loss(Separable):
    """Per quasi-identifier: value_j = (1/N) * sum over records of (kept ? share : 1), share = (leaves - 1)/(|H_j| - 1).

    N counts all records, including suppressed and withheld ones. For continuous hierarchies the share is width / range.
    If generalization counts by g < 1, a kept record costs g * (leaves - 1)/(|H_j| - g). If suppression counts by s < 1,
    a suppressed record costs share + s * (1 - share), and a withheld record, which has no label, s. The values of
    aggregated columns follow: see `AggregatedError`.
    Where a rule declares a loss range, leaves and |H_j| are those within it.
    Source: Iyengar 2002, section 3; g and s as in ARX.
    """

    def __init__(
        self,
        model: LossModel,
        levels: Sequence[AttributeLevels],
        weights: Sequence[float],
        marginals: Marginals,
        withheld: int,
        aggregated: Sequence[tuple[int, AggregatedColumn]] = (),
    ) -> None:
        """`marginals` holds the records that are not withheld, per code.

        `weights` has one per quasi-identifier, the aggregated ones last. Aggregated columns come with their positions
        among the columns whose values classes know.
        """
        super().__init__(WeightedAggregate(model.aggregate, tuple(weights)))
        self._monotone = model.monotone
        self._withheld = withheld
        self._nobody = Marginals(marginals.at, tuple(np.zeros_like(counts) for counts in marginals.counts))
        # Without the smallest cost, 1 leaf, costs are whole numbers unless the domain is continuous.
        self._kept = RecordCosts(
            levels, marginals, lambda attribute, level: attribute.loss_leaves[level] - _least(attribute)
        )
        records = int(marginals.counts[0].sum()) + withheld
        factors = Factors.of(model.factor)
        self._attributes = tuple(_AttributeLoss(attribute, factors, records) for attribute in levels)
        self._aggregated = tuple(AggregatedError(column, position, factors, records) for position, column in aggregated)
        # The error inside classes grows with them: the classes at lo give a lower bound.
        self.bounds_by_classes = bool(aggregated)
        self._maps = LevelMaps(levels)

    def values(self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]) -> tuple[float, ...]:
        """Loss per quasi-identifier at the transformation if exactly the classes of the mask are kept."""
        gone = self._counted(~kept)
        lost = int(classes.counts[gone].sum()) + self._withheld
        return (
            *(
                attribute.loss(self._kept.of_all[j][at[j]], saved, lost)
                for j, (attribute, saved) in enumerate(zip(self._attributes, self._saved(classes, gone), strict=True))
            ),
            *(column.part(classes, gone) for column in self._aggregated),
        )

    def evidence(self, check: Check) -> TableEvidence:
        """The table of bounds, and the least cost of aggregated columns."""
        gone = self._counted(check.gone)
        others = tuple(column.least_up_to(check.classes, gone) for column in self._aggregated)
        return TableEvidence(self.aggregation, self.bounds(check), others)

    def bounds(self, check: Check) -> Table:
        """The table for the records in classes below the minimum size."""
        return self.table(self._nobody if self._monotone else check.marginals)

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """The values at lo if exactly the records in classes below the minimum size at hi were suppressed."""
        classes = lo.classes
        nested = nest(classes, lo.at, hi, self._maps)
        gone = self._counted((nested.classes.counts < lo.minimum_size)[nested.parent])
        lost = int(classes.counts[gone].sum()) + self._withheld
        return self.aggregation.score(
            [
                *(
                    attribute.bound(self._kept.of_all[j][lo.at[j]], saved, lost)
                    for j, (attribute, saved) in enumerate(
                        zip(self._attributes, self._saved(classes, gone), strict=True)
                    )
                ),
                *(column.least_from(classes, gone) for column in self._aggregated),
            ]
        )

    def table(self, suppressed: Marginals) -> Table:
        """Per quasi-identifier and level, a lower bound of its loss there if exactly these records were suppressed.

        It is that loss itself from the level of `suppressed.at` on. Below, each record is assumed to save as much as
        the most expensive record of its group would cost.

        If these are the records in classes below the implied minimum size at y, the entry for a level bounds the loss
        of every transformation <= y that has this level or a higher one, because those records are in such classes
        there, too, and loss grows with the level and with suppression.
        """
        return tuple(
            attribute.bounds(of_all, saved, int(gone.sum()) + self._withheld)
            for attribute, of_all, saved, gone in zip(
                self._attributes, self._kept.of_all, self._kept.at_most(suppressed), suppressed.counts, strict=True
            )
        )

    def _counted(self, gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The classes whose suppression counts."""
        return np.zeros_like(gone) if self._monotone else gone

    def _saved(self, classes: EquivalenceClasses, gone: NDArray[np.bool_]) -> list[float]:
        """Per generalized quasi-identifier, the cost of the records of these classes if they were kept."""
        lost = classes.selected(gone)
        return [
            weighted_sum(lost.counts, self._kept.at(j, level)[lost.groups(j)]) for j, level in enumerate(classes.at)
        ]


class _AttributeLoss:
    """Turns sums of costs in leaves into the loss of one attribute.

    If all costs are whole numbers, float64 holds their sums exactly: then a bound and a score made of the same records
    are equal. Otherwise both are rounded.
    """

    def __init__(self, attribute: AttributeLevels, factors: Factors, records: int) -> None:
        # If |H| = 1, keeping costs nothing and suppressing costs 1, as in a continuous domain of points. |H| = 0 if all
        # values are NULL and withheld.
        self._one = 0.0 if attribute.loss_domain <= 1 else _least(attribute)
        self._whole = attribute.loss_domain - self._one or 1.0
        self._factors = factors
        self._records = max(records, 1)
        whole_numbers = factors.balanced and not attribute.continuous
        self._exact = whole_numbers and self._records * self._whole < EXACT

    def loss(self, of_all: float, saved: float, lost: int) -> float:
        """The loss if all records cost `of_all`, and `lost` of them, which would cost `saved`, are suppressed."""
        (loss,) = self._losses(np.array([of_all]), np.array([saved]), lost).tolist()
        return loss if self._exact else rounded(loss)

    def bound(self, of_all: float, saved: float, lost: int) -> float:
        """Like `loss`, but rounded down: never above any loss of at least as much."""
        (bound,) = self.bounds(np.array([of_all]), np.array([saved]), lost).tolist()
        return float(bound)

    def bounds(self, of_all: NDArray[np.float64], saved: NDArray[np.float64], lost: int) -> NDArray[np.float64]:
        """Like `bound`, per level."""
        losses = self._losses(of_all, saved, lost)
        return losses if self._exact else rounded_down(losses)

    def _losses(self, of_all: NDArray[np.float64], saved: NDArray[np.float64], lost: int) -> NDArray[np.float64]:
        g, s = self._factors.generalization, self._factors.suppression
        # Kept: g * cost. Suppressed: all of `whole` if s = 1, cost + s * (whole - cost) if g = 1.
        suppressed = s * (lost * self._whole - saved) + (1.0 - g) * (saved + lost * self._one)
        whole = self._whole + (1.0 - g) * self._one
        losses: NDArray[np.float64] = (g * of_all + suppressed) / (whole * self._records)
        return losses


def _least(attribute: AttributeLevels) -> float:
    """The least cost of a record: a point of a continuous domain has no width, any other value is one leaf."""
    return 0.0 if attribute.continuous else 1.0
