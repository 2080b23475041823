"""k-anonymity and dominance: every class has records of many people, and none of them has too many of its records.

(X,Y)-anonymity (Wang and Fung 2006) with the people as Y: each row of a class has so many possible owners. The owner of
a row is a given person with the probability of that person's share of the class, which dominance limits. Where people
have one record each, both are statements about sizes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses, SensitiveColumn, class_of_labels, put_together
from tableveil.policy import Dominance, KAnonymity
from tableveil.privacy.column_rule import ceiled, excess, highest_for, lowest_for
from tableveil.privacy.exact import floored
from tableveil.privacy.k_anonymity import KAnonymityRule
from tableveil.privacy.model import Facts, ReleaseRule
from tableveil.risk import ClassSizes, OwnedClasses, ProsecutorRisk, people_risk, prosecutor_risk


def dominance_rule(model: Dominance, facts: Facts) -> ReleaseRule:
    """The rule for shares of people; if every record is another person, the share is 1 by the size of the class."""
    if facts.people is None:
        return ShareOfOneRule(KAnonymity(math.ceil(1 / Fraction(model.share))), model)
    return DominanceRule(facts, model)


# --- what classes reach ---------------------------------------------------------------------------------------------


def people_in(classes: EquivalenceClasses, facts: Facts) -> NDArray[np.int64]:
    """Per class, its number of different people."""
    if facts.people is None:
        return classes.counts
    starts = classes.values(facts.people[0]).starts
    entries = len(classes.values(facts.people[0]).counts)
    return np.diff(starts, append=entries).astype(np.int64)


def largest_shares(classes: EquivalenceClasses, facts: Facts) -> NDArray[np.float64]:
    """Per class, the largest share of its records that one person has."""
    shares: NDArray[np.float64] = _most_of_one(classes, facts) / classes.counts
    return shares


def achieved_risk(
    classes: EquivalenceClasses, facts: Facts, thresholds: Sequence[Decimal], *, joint: bool = False
) -> ProsecutorRisk:
    """The prosecutor's risks of the records: the largest share that one person has of a record's class.

    Where every record is another person, a share is 1 / the size of the class. Joint classes of the same labels are one
    class here: the risks are those of the release by itself, as its rows show it.
    """
    if facts.people is None or not len(classes.counts):
        return prosecutor_risk(ClassSizes.of(classes.counts), thresholds)
    values = classes.values(facts.people[0])
    if joint:
        values = put_together(values, class_of_labels(classes))
    # Each record is one person's.
    counts = np.add.reduceat(values.counts, values.starts)
    most = np.maximum.reduceat(values.counts, values.starts)
    alone = np.diff(values.starts, append=len(values.counts)) == 1
    # Risks are computed once for all classes of a kind; nobody has more than all records.
    kinds, numbers = np.unique((counts * (most.max() + 1) + most) * 2 + alone, return_counts=True)
    rest, of_one = np.divmod(kinds, 2)
    sizes, shares = np.divmod(rest, most.max() + 1)
    return people_risk(OwnedClasses(sizes, np.where(of_one, 1, 2), shares, numbers), thresholds).of_prosecutor


def _most_of_one(classes: EquivalenceClasses, facts: Facts) -> NDArray[np.int64]:
    """Per class, the records of the person who has most."""
    if facts.people is None or not len(classes.counts):
        return np.ones_like(classes.counts)
    values = classes.values(facts.people[0])
    most: NDArray[np.int64] = np.maximum.reduceat(values.counts, values.starts)
    return most


# --- rules ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PeopleRule(ReleaseRule):
    """A rule about the people in classes. It counts them only in classes whose sizes do not decide."""

    facts: Facts

    @cached_property
    def people(self) -> SensitiveColumn:
        """The people of the whole source."""
        assert self.facts.people is not None, "every record is another person"
        return self.facts.people[1]


@dataclass(frozen=True)
class KPeopleRule(_PeopleRule):
    """Classes with records of at least k people may be released (Wang and Fung 2006).

    Monotone, and lost as a whole: a class has all people of its parts.
    """

    model: KAnonymity

    @property
    def minimum_class_size(self) -> int:
        """One record for each person."""
        return self.model.k

    @cached_property
    def most_of_fewer(self) -> int:
        """The most records that k - 1 people have together: a larger class has more people."""
        others, counts = self.model.k - 1, self.people.counts
        return int(counts.sum() if others >= len(counts) else np.partition(counts, -others)[-others:].sum())

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes with at least k people."""
        enough = classes.counts > self.most_of_fewer
        unknown = ~enough & (classes.counts >= self.model.k)
        if unknown.any():
            enough[unknown] = np.bincount(self.facts.people_of(classes, unknown).classes) >= self.model.k
        return enough

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """All records of classes with fewer people."""
        return np.where(self.releasable(classes), 0, classes.counts)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest k; 1 promises nothing."""
        people = people_in(classes, self.facts).astype(np.float64)
        k = highest_for(people, classes.counts, suppressible)
        return f"k = {k:.0f}" if k is not None and k >= 2 else None


@dataclass(frozen=True)
class DominanceRule(_PeopleRule):
    """Classes in which nobody has more than a share of the records may be released.

    This is probabilistic l-diversity with the person as the value, so its proofs hold: the released parts of a class
    together meet the rule, and the records of a person beyond the share of the whole class are lost. Monotone.
    """

    model: Dominance

    @property
    def minimum_class_size(self) -> int:
        """So many people are needed for their shares to sum up to 1."""
        return math.ceil(1 / Fraction(self.model.share))

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes in which every person's share is small enough."""
        return np.equal(self._beyond(classes), 0)

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """The records beyond the share."""
        return self._beyond(classes)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the smallest share below 1."""
        reached = lowest_for(largest_shares(classes, self.facts), classes.counts, suppressible)
        if reached is None or reached >= 1:
            return None
        offered = Decimal(ceiled(reached))
        # A float next to the share may be below it.
        rule = replace(self, model=Dominance(offered))
        lost = int(classes.counts[~rule.releasable(classes)].sum())
        return f"share = {offered:f}" if 0 < offered < 1 and lost <= suppressible else None

    def _beyond(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """Per class, the records by which people exceed the share."""
        most = floored(Fraction(self.model.share), (classes.counts,))
        beyond = np.zeros(len(classes.counts), np.int64)
        unknown = most < int(self.people.counts.max())
        if unknown.any():
            values = self.facts.people_of(classes, unknown)
            beyond[unknown] = excess(values, most[unknown][values.classes])
        return beyond


@dataclass(frozen=True)
class ShareOfOneRule(KAnonymityRule):
    """Dominance where every record is another person: k-anonymity with 1 / share as k."""

    asked: Dominance

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the smallest share below 1."""
        size = highest_for(classes.counts.astype(np.float64), classes.counts, suppressible)
        return f"share = {ceiled(1 / size)}" if size is not None and size >= 2 else None
