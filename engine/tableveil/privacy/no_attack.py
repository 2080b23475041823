"""No attack: for the adversary of the game, attacks on released records do not pay."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.game import Stakes, hits, sizes_of
from tableveil.policy import KAnonymity, KMap, NoAttack, Success
from tableveil.privacy.by_sample import shortest_prefix, smallest_first
from tableveil.privacy.column_rule import floored, highest_for
from tableveil.privacy.k_anonymity import KAnonymityRule
from tableveil.privacy.k_map import KMapRule
from tableveil.privacy.model import Facts, ReleaseRule


def no_attack_rule(model: NoAttack, facts: Facts) -> ReleaseRule:
    """Attacks with probability 1 / size do not pay from a size of gain / cost on: that size is a k.

    k-anonymity stops prosecutors. k-map stops journalists, or k-anonymity does if the population has no rows. An
    average stops marketers.
    """
    stakes = facts.stakes
    # A class cannot have more records than the source, however large the gain is.
    k = min(stakes.safe_size, facts.counter.records + 1)
    if model.success is Success.MARKETER:
        return NoAttackOnSampleRule(stakes, facts.counter)
    if model.success is Success.PROSECUTOR or facts.counter.population is None:
        return NoAttackByAnonymity(KAnonymity(k), stakes.cost)
    return NoAttackByMap(KMap(stakes.safe_size), stakes.cost)


@dataclass(frozen=True)
class NoAttackByAnonymity(KAnonymityRule):
    """k-anonymity with a k computed from gain and cost."""

    cost: Decimal

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest gain."""
        return _largest_gain(highest_for(classes.counts.astype(np.float64), classes.counts, suppressible), self.cost)


@dataclass(frozen=True)
class NoAttackByMap(KMapRule):
    """k-map with a k computed from gain and cost."""

    cost: Decimal

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest gain."""
        people = classes.population().astype(np.float64)
        return _largest_gain(highest_for(people, classes.counts, suppressible), self.cost)


@dataclass(frozen=True)
class NoAttackOnSampleRule(ReleaseRule):
    """The share of the released records that a marketer finds, times gain, must not be above the cost.

    If it is above, the classes are suppressed in the order of their size, until it is not any more. Without rows of a
    population this is an average risk of at most cost / gain.
    """

    stakes: Stakes
    counter: ClassCounter

    by_sample = True

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """All classes except those that must be suppressed; no class is always releasable."""
        return unattacked(self.stakes, self.counter, classes)

    def lost_together(self, classes: EquivalenceClasses) -> int:
        """At least so many records of these classes are suppressed here and at every finer transformation."""
        suppressed = classes.selected(~self.releasable(classes))
        lost = int(suppressed.counts.sum())
        if lost and self.counter.population is not None:
            # A finer transformation may release all records but one of the largest of them.
            last = int(smallest_first(self.counter, suppressed, self._sizes(suppressed))[-1])
            lost -= int(suppressed.counts[last]) - 1
        return lost

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest gain."""
        sizes = self._sizes(classes)
        order = smallest_first(self.counter, classes, sizes)
        records, sizes = classes.counts[order], sizes[order]
        left = int(np.searchsorted(np.cumsum(records), suppressible, side="right"))
        if left == len(order):
            return None
        gain = float(self.stakes.cost) * int(records[left:].sum()) / hits(records[left:], sizes[left:])
        return f"game.adversary_gain = {floored(gain)}" if Decimal(floored(gain)) > self.stakes.cost else None

    def _sizes(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        return sizes_of(classes, Success.MARKETER, self.counter)


def unattacked(stakes: Stakes, counter: ClassCounter, classes: EquivalenceClasses) -> NDArray[np.bool_]:
    """All classes except as few of the smallest as needed for a marketer not to attack."""
    sizes = sizes_of(classes, Success.MARKETER, counter)
    kept = np.ones(len(sizes), np.bool_)
    if stakes.sample_attacked(classes.counts, sizes):
        order = smallest_first(counter, classes, sizes)
        records, sizes = classes.counts[order], sizes[order]
        number = shortest_prefix(lambda n: not stakes.sample_attacked(records[n:], sizes[n:]), len(order))
        kept[order[:number]] = False
    return kept


def _largest_gain(size: float | None, cost: Decimal) -> str | None:
    """The largest gain for which classes of this size are safe; None if it is not above the cost: no game is left."""
    return f"game.adversary_gain = {int(size) * cost.normalize():f}" if size is not None and size >= 2 else None
