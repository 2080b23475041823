"""k-anonymity and dominance of other units beside people, such as households: twelve people may be of two of them.

A record without a unit is one of its own; where people have several records, those of one person are.
"""

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses, SensitiveColumn
from tableveil.policy import Dominance, KAnonymity
from tableveil.privacy.column_rule import ceiled, highest_for, lowest_for
from tableveil.privacy.exact import floored
from tableveil.privacy.k_anonymity import KAnonymityRule
from tableveil.privacy.model import Facts, ReleaseRule
from tableveil.privacy.people import KPeopleRule, dominance_rule, largest_shares, people_in

Unit = tuple[int, SensitiveColumn]
"""The position that leads to the units in classes, and their column."""


def k_rule(model: KAnonymity, facts: Facts) -> ReleaseRule:
    """The rule of people, and of the other units that count."""
    of_people = KAnonymityRule(model) if facts.people is None else KPeopleRule(facts, model)
    return KUnitsRule(model, facts, of_people) if facts.units else of_people


def share_rule(model: Dominance, facts: Facts) -> ReleaseRule:
    """The rule of the shares of people, and of the other units that count."""
    of_people = dominance_rule(model, facts)
    return ShareOfUnitsRule(model, facts, of_people) if facts.units else of_people


def units_in(classes: EquivalenceClasses, unit: Unit) -> NDArray[np.int64]:
    """Per class, its number of different units."""
    values = classes.values(unit[0])
    return np.add.reduceat(np.where(values.values == unit[1].null_code, values.counts, 1), values.starts)


def most_of_unit(classes: EquivalenceClasses, unit: Unit) -> NDArray[np.int64]:
    """Per class, the records of the unit that has most."""
    values = classes.values(unit[0])
    most: NDArray[np.int64] = np.maximum.reduceat(
        np.where(values.values == unit[1].null_code, 1, values.counts), values.starts
    )
    return most


@dataclass(frozen=True)
class KUnitsRule(ReleaseRule):
    """Classes of at least k people, and of at least k units of each kind, may be released.

    Monotone, and lost as a whole: a class has all units of its parts.
    """

    model: KAnonymity
    facts: Facts
    of_people: ReleaseRule

    @property
    def minimum_class_size(self) -> int:
        """One record for each unit."""
        return self.of_people.minimum_class_size

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes with at least k units of each kind."""
        kept = self.of_people.releasable(classes)
        for unit in self.facts.units:
            if kept.any():
                kept[kept] = units_in(classes.selected(kept), unit) >= self.model.k
        return kept

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """All records of classes with fewer units."""
        return np.where(self.releasable(classes), 0, classes.counts)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest k; 1 promises nothing."""
        fewest = people_in(classes, self.facts)
        for unit in self.facts.units:
            fewest = np.minimum(fewest, units_in(classes, unit))
        k = highest_for(fewest.astype(np.float64), classes.counts, suppressible)
        return f"k = {k:.0f}" if k is not None and k >= 2 else None


@dataclass(frozen=True)
class ShareOfUnitsRule(ReleaseRule):
    """Classes in which no person and no other unit has more than a share of the records may be released.

    It is the rule of people for each kind of unit, so its proofs hold.
    """

    model: Dominance
    facts: Facts
    of_people: ReleaseRule

    @property
    def minimum_class_size(self) -> int:
        """So many units are needed for their shares to sum up to 1."""
        return math.ceil(1 / Fraction(self.model.share))

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes in which every unit's share is small enough."""
        kept: NDArray[np.bool_] = self.of_people.releasable(classes) & np.equal(self._beyond(classes), 0)
        return kept

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """The records beyond the share: those by one kind of unit may be those by another."""
        of_people = self.of_people.lost(classes)
        beyond = self._beyond(classes)
        return beyond if of_people is None else np.maximum(beyond, of_people)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the smallest share below 1."""
        shares = largest_shares(classes, self.facts)
        for unit in self.facts.units:
            shares = np.maximum(shares, most_of_unit(classes, unit) / classes.counts)
        reached = lowest_for(shares, classes.counts, suppressible)
        if reached is None or reached >= 1:
            return None
        offered = Decimal(ceiled(reached))
        # A float next to the share may be below it.
        rule = share_rule(replace(self.model, share=offered), self.facts)
        lost = int(classes.counts[~rule.releasable(classes)].sum())
        return f"share = {offered:f}" if 0 < offered < 1 and lost <= suppressible else None

    def _beyond(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """Per class, the most records by which units of a kind exceed the share."""
        most = floored(Fraction(self.model.share), (classes.counts,))
        beyond = np.zeros(len(classes.counts), np.int64)
        for position, column in self.facts.units:
            values = classes.values(position)
            # A record without a unit is one of its own.
            counts = np.where(values.values == column.null_code, 0, values.counts)
            over = np.clip(counts - most[values.classes], 0, counts)
            if len(over):
                alone = (values.values == column.null_code) & (most[values.classes] < 1)
                over = np.where(alone, values.counts, over)
                beyond = np.maximum(beyond, np.add.reduceat(over, values.starts))
        return beyond
