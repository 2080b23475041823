"""(n,t)-closeness: the values of a class are distributed much as in some large group that contains it."""

from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses
from tableveil.lattice import Transformation
from tableveil.policy import NTCloseness
from tableveil.privacy.column_rule import DIGITS, ColumnRule, spelled
from tableveil.privacy.distances import EARTH_MOVERS, Distributions, EarthMover
from tableveil.privacy.supersets import Spread, Supersets

BUDGET = 1 << 27
"""Bytes of supersets that are remembered between calls."""

CELLS = 1 << 20
"""The most pairs of class and value for which excluding many supersets at once is tried."""

MARGIN = 1e-9
"""The margin by which a bound in floats has to exceed t; their error is far smaller."""


@dataclass(frozen=True)
class NTClosenessRule(ColumnRule[NTCloseness]):
    """Classes that are at most t away from a natural superset of at least n records (Li et al. 2010, section 4).

    A natural superset is the class that contains it at a more general transformation, up to the tops of the
    hierarchies, suppressed records included; a class of n records is one of itself.

    Nothing is inherited. Two classes may each be close to a superset while their union, which has other supersets, is
    close to none: the rule is not monotone, with or without suppression. A class of one record may be close to a
    superset of one value: the rule implies no size.
    """

    monotone = False

    @cached_property
    def distance(self) -> EarthMover:
        """The distance from the whole source, the only superset of the suppressed records together."""
        return self._distance(Distributions.whole(self.column.counts))

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes with a superset that is close enough, decided in whole numbers."""
        return self._close(classes, Fraction(self.model.t))

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the smallest t for this n; 1 promises nothing."""
        steps = range(10**DIGITS)

        def suffices(step: int) -> bool:
            kept = self._close(classes, Fraction(step, 10**DIGITS))
            return int(classes.counts[~kept].sum()) <= suppressible

        first = bisect_left(steps, True, key=suffices)
        return spelled("t", Decimal(first).scaleb(-DIGITS)) if first < len(steps) else None

    def _close(self, classes: EquivalenceClasses, t: Fraction) -> NDArray[np.bool_]:
        kept = classes.counts >= self.model.n
        if not kept.all():
            kept[~kept] = self._close_to_others(classes.selected(~kept), t)
        return kept

    def _close_to_others(self, classes: EquivalenceClasses, t: Fraction) -> NDArray[np.bool_]:
        """Per class of fewer than n records, whether one of its other supersets is close enough."""
        top, held = self.facts.top, np.zeros(len(classes.counts), np.bool_)
        if classes.at == top:
            # No transformation is more general. The suppressed records together are a class, too, but only the whole
            # source contains it.
            if int(self.column.counts.sum()) >= self.model.n and not self._is_top(classes):
                held = self.distance.within(self.distance.against(self.values(classes), classes.counts), t)
            return held
        search = _Search(self, classes, t)
        held[search.close(np.arange(len(held)), top)] = True
        left = np.flatnonzero(~held)
        if len(left):
            held[search.close_between(left, classes.at, top)] = True
        return held

    def _is_top(self, classes: EquivalenceClasses) -> bool:
        return int(classes.counts.sum()) == self.facts.counter.records - self.facts.counter.withheld

    def _distance(self, distributions: Distributions) -> EarthMover:
        return EARTH_MOVERS[self.model.distance](self.column, distributions)

    @cached_property
    def _supersets(self) -> Supersets:
        return Supersets(self.facts.counter, self.facts.sensitive(self.model.column)[0], BUDGET)


class _Search:
    """Looks for supersets of some classes that are close enough, one interval of the lattice after the other.

    A superset between two transformations contains the one at the lower and is contained in the one at the upper. This
    excludes most of them at once: where even the largest has too few records, where it equals the smallest, or where no
    distribution between the two is close enough.
    """

    def __init__(self, rule: NTClosenessRule, classes: EquivalenceClasses, t: Fraction) -> None:
        self._rule = rule
        self._n = rule.model.n
        self._t = t
        self._values = Spread.of(classes, rule.values(classes))
        self._classes = self._values.classes

    def close(self, left: NDArray[np.intp], y: Transformation) -> NDArray[np.intp]:
        """The classes in `left` whose superset at y has n records and is within t."""
        spread, of = self._supersets_at(left, y)
        enough = spread.classes.counts[of] >= self._n
        left, of = left[enough], of[enough]
        if not len(left):
            return left
        needed, number = np.unique(of, return_inverse=True)
        distance = self._rule._distance(Distributions(spread.chosen(needed), spread.classes.counts[needed]))
        compared = distance.against(self._values.chosen(left), self._classes.counts[left], number)
        return left[distance.within(compared, self._t)]

    def close_between(self, left: NDArray[np.intp], low: Transformation, high: Transformation) -> NDArray[np.intp]:
        """The classes in `left` with such a superset from low to high; the one at high was looked at before."""
        left = self._possible(left, low, high) if low != high else left[:0]
        if not len(left):
            return left
        widest = max(range(len(low)), key=lambda j: high[j] - low[j])
        middle = (low[widest] + high[widest]) // 2
        lower = (*high[:widest], middle, *high[widest + 1 :])
        upper = (*low[:widest], middle + 1, *low[widest + 1 :])
        close = self.close(left, lower)
        for part in ((low, lower), (upper, high)):
            left = np.setdiff1d(left, close, assume_unique=True)
            close = np.concatenate((close, self.close_between(left, *part)))
        return close

    def _possible(self, left: NDArray[np.intp], low: Transformation, high: Transformation) -> NDArray[np.intp]:
        """The classes in `left` with a possible superset from low to high, except the one at high."""
        largest, held_by = self._supersets_at(left, high)
        smallest, of = self._supersets_at(left, low)
        sizes, most = smallest.classes.counts[of], largest.classes.counts[held_by]
        possible = (most >= self._n) & (sizes < most)
        left, of, held_by, sizes = left[possible], of[possible], held_by[possible], sizes[possible]
        width = len(self._rule.column.counts)
        if not len(left) or len(left) * width > CELLS:
            return left
        own = self._shares(self._values.chosen(left), len(left))
        least, most_of = self._shares(smallest.chosen(of), len(left)), self._shares(largest.chosen(held_by), len(left))
        # A superset has at most `most_of` records on a side; on the other it has at least as many as the smallest one.
        records = np.maximum(sizes[:, None] - least + most_of, self._n)
        excess = np.maximum(own / self._classes.counts[left][:, None] - most_of / records, 0).sum(axis=1)
        return left[np.flatnonzero(excess <= float(self._t) * self._rule.distance.unit + MARGIN)]

    def _shares(self, values: ClassValues, number: int) -> NDArray[np.int64]:
        """Per class, its records on each side that the distance sums over."""
        table = np.zeros((number, len(self._rule.column.counts)), np.int64)
        table[values.classes, values.values] = values.counts
        return self._rule.distance.sides(table)

    def _supersets_at(self, left: NDArray[np.intp], y: Transformation) -> tuple[Spread, NDArray[np.intp]]:
        """All classes at y, and per class in `left` the one that contains it."""
        mask = np.zeros(len(self._classes.counts), np.bool_)
        mask[left] = True
        spread = self._rule._supersets.at(y, self._classes.at)
        return spread, self._rule._supersets.holding(self._classes.selected(mask), y, spread)
