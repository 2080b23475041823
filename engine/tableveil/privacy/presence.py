"""Membership: how well the population's table and the release together reveal who is in the source."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.policy import DeltaPresence, Inclusion
from tableveil.privacy import exact
from tableveil.privacy.column_rule import ceiled, floored, highest_for, lowest_for
from tableveil.privacy.model import ReleaseRule


@dataclass(frozen=True)
class DeltaPresenceRule(ReleaseRule):
    """Classes may be released if the share of their population that is in the source lies within a range.

    A class with more records than the population has is outside every range, since the shares of its people are not
    known. Source: Nergiz, Atzori and Clifton 2007.
    """

    model: DeltaPresence

    # Classes within the range and a class of the population only can join to a class below the minimum.
    monotone = False

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes whose share is from the minimum to the maximum."""
        population = classes.population()
        return (classes.counts > self._too_few(population)) & (classes.counts <= self._most(population))

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """The records above the maximum's share: the released parts have no larger population together."""
        return np.maximum(classes.counts - self._most(classes.population()), 0)

    def vetoes(self, classes: EquivalenceClasses) -> bool:
        """A class of the population without any record of the source reveals that none of its people is in the source.

        It cannot be suppressed, and at a finer transformation its people have no record of the source either.
        """
        return self.model.minimum > 0 and classes.population_only() > 0

    def refuses_all_below(self, classes: EquivalenceClasses) -> bool:
        """If a class is outside the range, so is one of its parts: it is refused, or vetoes for having no record."""
        return not self.releasable(classes).all()

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the least maximum if the minimum can stay, else the range; from 0 to 1 promises nothing."""
        counts, population = classes.counts, classes.population()
        shares = counts / np.maximum(population, 1)
        within = population >= counts
        below = counts <= self._too_few(population)
        spare = suppressible - int(counts[below].sum())
        if spare >= 0 and not self.vetoes(classes):
            highest = lowest_for(np.where(within, shares, np.inf)[~below], counts[~below], spare)
            if highest is None or highest > 1 or (self.model.minimum == 0 and ceiled(highest) == "1"):
                return None
            return f"maximum = {ceiled(highest)}"
        spare = suppressible - int(counts[~within].sum())
        if spare < 0 or not within.any():
            return None
        reached = None if classes.population_only() else highest_for(shares[within], counts[within], spare)
        low, high = floored(reached or 0.0), ceiled(float(shares[within].max()))
        return None if (low, high) == ("0", "1") else f"minimum = {low}, maximum = {high}"

    def _most(self, population: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per class, the most records that it may have."""
        return exact.floored(Fraction(self.model.maximum), [population])

    def _too_few(self, population: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per class, the most records that are below the minimum's share; -1 if no number is."""
        return exact.below(Fraction(self.model.minimum), [population])


@dataclass(frozen=True)
class InclusionRule(ReleaseRule):
    """Classes may be released if the population has at least as many of their records as the source."""

    model: Inclusion

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes that could be a part of the population."""
        return classes.counts <= classes.population()

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """The records that the population lacks: the released parts have no larger population together."""
        return np.maximum(classes.counts - classes.population(), 0)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Inclusion has no parameter."""
        return None


def presence_range(classes: EquivalenceClasses) -> tuple[float, float] | None:
    """The least and the greatest share of a class's population that is in the source; it is given all classes.

    The least is 0 if a class of the population has no record of the source; a share is above 1, or infinite, where the
    source is no part of the population. None if there are no classes.
    """
    if not len(classes.counts):
        return None
    with np.errstate(divide="ignore"):
        shares = classes.counts / classes.population()
    return 0.0 if classes.population_only() else float(shares.min()), float(shares.max())
