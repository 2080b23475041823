"""Publisher payout: the part of the game's benefit that is lost by generalization, suppression and attacks.

Why the bound holds: suppressed, a record costs the benefit B; kept, B IL(x) + A(x), with its information loss IL and
A = loss / size if it is attacked, else 0. IL grows with the level, A as classes get smaller. So a record costs at
least min(B, B IL(lo) + A(hi)), and B IL(lo) + min(A(hi), B (1 - IL(hi))) is never above that. The first part is a sum
per quasi-identifier and level, the second one number per check. For marketers A counts as 0: nothing of a success
that depends on the other released classes is inherited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, ClassCounter, EquivalenceClasses
from tableveil.game import InformationLoss, Stakes, sizes_of
from tableveil.hierarchy import log_leaves
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import SLACK, rounded, weighted_sum
from tableveil.policy import Game, PublisherPayoutModel, Success
from tableveil.quality.model import AssessedTransformation, Score, Table
from tableveil.quality.separable import RecordCosts


class PublisherPayout:
    """Sum over all records of benefit - payout; suppressed and withheld records pay 0.

    For a released record this is benefit * information loss, plus loss / size if the record is attacked. Source: Wan et
    al. 2015; with suppression as in ARX.
    """

    # The classes at lo would exclude few more intervals and cost a count each: docs/explanations/search.md.
    bounds_by_classes = False

    def __init__(self, model: PublisherPayoutModel, counter: ClassCounter, game: Game) -> None:
        """Raises `UncountableError` if a domain is continuous."""
        self._success = model.success
        self._counter = counter
        self._stakes = Stakes.of(game)
        self._loss = InformationLoss(counter.levels)
        self._bits = RecordCosts(counter.levels, counter.marginals(), log_leaves)
        self._per_bit = self._stakes.benefit / self._loss.bits if self._loss.bits else 0.0

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The sum if exactly the classes of the mask are kept."""
        released = classes.selected(kept)
        counts = released.counts
        costs = self._stakes.benefit * self._loss.of(released) + self._attacks(released)
        suppressed = self._counter.records - int(counts.sum())
        return AssessedTransformation((rounded(weighted_sum(counts, costs) + suppressed * self._stakes.benefit),))

    def evidence(self, check: Check) -> _Evidence:
        """Bounds by the records that are lost, and by the cost of attacks on classes of these sizes."""
        benefit, classes, gone = self._stakes.benefit, check.classes, check.gone
        # A record costs less than attacks on it only if it is suppressed.
        attacks = np.minimum(self._least_attacks(classes), benefit * (1.0 - self._loss.of(classes)))
        suppressed = self._counter.withheld + int(classes.counts[gone].sum())
        generalized = tuple(self._per_bit * bits for bits in self._bits.of_others_at_least(check.marginals))
        return _Evidence(generalized, weighted_sum(classes.counts[~gone], attacks[~gone]) + suppressed * benefit)

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """Offers no bound."""
        raise NotImplementedError

    def reported(self, score: Score) -> float:
        """The sum."""
        return score[0]

    def _attacks(self, released: EquivalenceClasses) -> NDArray[np.float64]:
        """Per released class, the cost of attacks on each record."""
        sizes = sizes_of(released, self._success, self._counter)
        if self._success is Success.MARKETER:
            return np.full(len(sizes), self._stakes.attack_on_sample(released.counts, sizes))
        return self._stakes.attacks(sizes)

    def _least_attacks(self, classes: EquivalenceClasses) -> NDArray[np.float64]:
        """Per class, the least cost of attacks on each of its records that a transformation up to this one releases.

        The average success of marketers depends on other records.
        """
        if self._success is Success.MARKETER:
            return np.zeros(len(classes.counts))
        return self._stakes.attacks(sizes_of(classes, self._success, self._counter))


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The generalization cost of the records that are not lost, and the costs of attacks and suppression."""

    generalized: Table
    others: float

    @property
    def guide(self) -> Table:
        return self.generalized

    def bound(self, lo: Transformation) -> Score:
        generalized = sum(float(column[level]) for column, level in zip(self.generalized, lo, strict=True))
        return ((generalized + self.others) * (1.0 - SLACK),)
