"""t-closeness: the distribution of values in a class is close to that of the whole table."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.policy import TCloseness
from tableveil.privacy.column_rule import ColumnRule, lowest_for, spelled
from tableveil.privacy.distances import EARTH_MOVERS, ComparedClasses, Distributions, EarthMover, Shares


@dataclass(frozen=True)
class TClosenessRule(ColumnRule[TCloseness]):
    """Classes whose distribution of values is at most t away from the whole source's (Li et al. 2007, definition 2).

    The distance is convex: the distance of a union of classes is at most the largest of theirs. So the rule is monotone
    if nothing is suppressed, and the released part of a class at finer transformations is within t as a whole.
    """

    @cached_property
    def distance(self) -> EarthMover:
        """The distance from the whole source, withheld records included."""
        return EARTH_MOVERS[self.model.distance](self.column, Distributions.whole(self.column.counts))

    @cached_property
    def smallest(self) -> int:
        """The least number of records of which some can be within t."""
        return self.distance.smallest(Fraction(self.model.t))

    @property
    def minimum_class_size(self) -> int:
        """Shares in a class are multiples of 1 / records: too few records cannot come close enough."""
        return self.smallest

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes within t, decided in whole numbers."""
        t, compared = Fraction(self.model.t), self._compared(classes)
        if self._asked and self._asked[0][0] is classes:
            return self.distance.holds(compared, self._asked[0][1], t)
        return self.distance.within(compared, t)

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64] | None:
        """The records that must be left out of a class for the rest to be within t, whichever records the rest has."""
        compared = self._compared(classes)
        shares = self.distance.shares(compared)
        self._asked[:] = [(classes, shares)]
        return classes.counts - self.distance.largest_part(compared, shares, Fraction(self.model.t))

    @cached_property
    def _asked(self) -> list[tuple[EquivalenceClasses, Shares]]:
        """The latest shares: the search asks for the lost records of classes, then for the releasable classes."""
        return []

    def distances(self, classes: EquivalenceClasses) -> NDArray[np.float64]:
        """Per class its distance from the whole source, from 0 to 1."""
        return self.distance.distances(self._compared(classes))

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """The smallest t; 1 promises nothing."""
        reached = lowest_for(self.distances(classes), classes.counts, suppressible)
        t = self.offered("t", reached, 1, classes, suppressible)
        return spelled("t", t) if t is not None and t < 1 else None

    def _compared(self, classes: EquivalenceClasses) -> ComparedClasses:
        return self.distance.against(self.values(classes), classes.counts)
