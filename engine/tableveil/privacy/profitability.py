"""Profitability: releasing a record must not cost its publisher more than it gains."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.game import InformationLoss, Stakes, sizes_of
from tableveil.numeric.rounding import weighted_sum
from tableveil.policy import BreakEven, Profitability, Success
from tableveil.privacy.column_rule import floored, highest_for
from tableveil.privacy.model import Facts, ReleaseRule
from tableveil.privacy.no_attack import unattacked


def profitability_rule(model: Profitability, facts: Facts) -> ReleaseRule:
    """The rule judges the payout of each class by itself or, if a marketer attacks, of all released ones together.

    Raises:
        UncountableError: A domain is continuous.
    """
    loss = InformationLoss(facts.counter.levels)
    kind = ProfitabilityOfSampleRule if model.success is Success.MARKETER else ProfitabilityRule
    return kind(model, facts, facts.stakes, loss)


@dataclass(frozen=True)
class ProfitabilityRule(ReleaseRule):
    """Classes whose records pay something may be released, or nothing at least (Wan et al. 2015).

    Whether a record pays depends on its own class only: each class is decided by itself.
    """

    model: Profitability
    facts: Facts
    stakes: Stakes
    loss: InformationLoss

    # Joining classes costs information.
    monotone = False

    @property
    def minimum_class_size(self) -> int:
        """For prosecutors: a record in a smaller class pays nothing even if it loses no information."""
        return 1 if self._in_population else min(self._least, self.facts.counter.records + 1)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes that pay."""
        return self.stakes.profitable(self.loss.of(classes), self._sizes(classes), self.model.break_even)

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """All records of a class that would pay nothing even at level 0: its parts have no more of the population."""
        return np.where(self._sizes(classes) < self._least, classes.counts, 0)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest publisher's loss."""
        sizes = self._sizes(classes)
        worth = self.stakes.benefit * (1.0 - self.loss.of(classes)) * sizes
        reached = highest_for(np.where(self.stakes.attacked(sizes), worth, np.inf), classes.counts, suppressible)
        if reached is None or not np.isfinite(reached):
            return None
        strictly = self.model.break_even is BreakEven.SUPPRESS and float(floored(reached)) >= reached
        loss = floored(reached - 5e-5 if strictly else reached)
        return f"game.publisher_loss = {loss}" if float(loss) > 0 else None

    @property
    def _in_population(self) -> bool:
        return self.model.success is not Success.PROSECUTOR and self.facts.counter.population is not None

    @property
    def _least(self) -> int:
        return self.stakes.least_profitable(self.model.break_even)

    def _sizes(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        return sizes_of(classes, self.model.success, self.facts.counter)


@dataclass(frozen=True)
class ProfitabilityOfSampleRule(ReleaseRule):
    """A set of classes in which every record pays, given that a marketer finds each of them equally easily.

    There can be many such sets. Two are tried, and the one that pays more in all is released. One is left when the
    smallest classes are suppressed until there is no attack. The other is left when all records that do not pay under
    attack are suppressed, repeatedly, as that makes other records pay less.
    """

    model: Profitability
    facts: Facts
    stakes: Stakes
    loss: InformationLoss

    by_sample = True
    monotone = False

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """The classes of the better one, or of the one without attack if both are equal; none is always releasable."""
        worth = self.stakes.benefit * (1.0 - self.loss.of(classes))
        sizes = sizes_of(classes, Success.MARKETER, self.facts.counter)
        quiet = self._without_attack(classes, worth)
        stable = self._stable(classes.counts, sizes, worth)
        better = self._payout(stable, classes.counts, sizes, worth) > self._payout(quiet, classes.counts, sizes, worth)
        return stable if better else quiet

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers nothing: the parameter depends on the other released classes."""
        return None

    def _without_attack(self, classes: EquivalenceClasses, worth: NDArray[np.float64]) -> NDArray[np.bool_]:
        kept = self._pays(worth, 0.0)
        kept[kept] = unattacked(self.stakes, self.facts.counter, classes.selected(kept))
        return kept

    def _stable(
        self, counts: NDArray[np.int64], sizes: NDArray[np.int64], worth: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        kept, before = np.ones(len(counts), np.bool_), len(counts) + 1
        while np.count_nonzero(kept) < before:
            before = np.count_nonzero(kept)
            kept &= self._pays(worth, self.stakes.attack_on_sample(counts[kept], sizes[kept]))
        return kept

    def _pays(self, worth: NDArray[np.float64], attack: float) -> NDArray[np.bool_]:
        pays: NDArray[np.bool_] = worth >= attack if self.model.break_even is BreakEven.KEEP else worth > attack
        return pays

    def _payout(
        self, kept: NDArray[np.bool_], counts: NDArray[np.int64], sizes: NDArray[np.int64], worth: NDArray[np.float64]
    ) -> float:
        """The payout of all kept records together."""
        attack = self.stakes.attack_on_sample(counts[kept], sizes[kept])
        return weighted_sum(counts[kept], worth[kept] - attack)
