"""The common part of rules that judge all released classes together: the smallest classes are suppressed first."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.policy import AverageRisk, PopulationUniqueness, SampleUniqueness
from tableveil.privacy.column_rule import ceiled
from tableveil.privacy.model import Facts, ReleaseRule

Model = TypeVar("Model", AverageRisk, SampleUniqueness, PopulationUniqueness)

DECIMALS = 12
"""The decimals to which losses are compared: equal ones differ by less when they are added in another order."""


@dataclass(frozen=True)
class SampleRule(ReleaseRule, Generic[Model]):
    """A measure of the sizes of all released classes must not be above a threshold.

    If it is, classes are suppressed in the order of their size, then of their loss, until it is not any more.
    """

    model: Model
    facts: Facts

    by_sample = True

    falls_when_joined = True
    """Whether the measure cannot rise when released classes are joined with each other and with other records."""

    @abstractmethod
    def measure(self, sizes: NDArray[np.int64]) -> float | None:
        """The measure of classes of these sizes, which ascend; there is at least one. None: it is unknown."""

    @abstractmethod
    def holds(self, sizes: NDArray[np.int64]) -> bool:
        """Whether the measure is known and not above the threshold, decided exactly; sizes as above."""

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """All classes except those that must be suppressed; no class is always releasable."""
        sizes = np.sort(classes.counts)
        suppressed = self._suppressed(sizes)
        if not suppressed:
            return np.ones(len(sizes), np.bool_)
        last = sizes[suppressed - 1]
        kept: NDArray[np.bool_] = classes.counts > last
        equal = np.flatnonzero(classes.counts == last)
        order = smallest_first(self.facts.counter, classes.selected(classes.counts == last), classes.counts[equal])
        kept[equal[order][suppressed - int(np.searchsorted(sizes, last)) :]] = True
        return kept

    def lost_together(self, classes: EquivalenceClasses) -> int:
        """At least so many records of these classes are suppressed here and at every finer transformation.

        It is not known which records these are. The result is 0 unless joining released classes, and releasing the rest
        of their records, can never raise the measure: then the release of a finer transformation could be released
        here, with all records that join it.
        """
        sizes = np.sort(classes.counts)
        return int(sizes[: self._suppressed(sizes)].sum()) if self.falls_when_joined else 0

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """The least threshold; 1 promises nothing."""
        sizes = np.sort(classes.counts)
        left = sizes[int(np.searchsorted(np.cumsum(sizes), suppressible, side="right")) :]
        reached = self.measure(left) if len(left) else None
        return f"threshold = {ceiled(reached)}" if reached is not None and float(ceiled(reached)) < 1 else None

    def _suppressed(self, sizes: NDArray[np.int64]) -> int:
        """How many of the smallest classes must be suppressed."""
        return shortest_prefix(lambda length: length == len(sizes) or self.holds(sizes[length:]), len(sizes))


def smallest_first(counter: ClassCounter, classes: EquivalenceClasses, sizes: NDArray[np.int64]) -> NDArray[np.intp]:
    """The order of suppression: by these sizes, then by loss, then by loss in each attribute, then by key.

    The loss of a class is the geometric mean of 1 + records * leaves / |H| over the quasi-identifiers, as in ARX. The
    keys decide only between classes of equal loss in every attribute.
    """
    leaves: list[NDArray[np.float64]] = []
    loss = np.zeros(len(sizes))
    for j, (levels, level) in enumerate(zip(counter.levels, classes.at, strict=True)):
        leaves.append(levels.leaves[level][classes.groups(j)])
        loss += np.log1p(classes.counts * leaves[j] / levels.domain_size)
    order: NDArray[np.intp] = np.lexsort((*reversed(leaves), np.round(loss, DECIMALS), sizes))
    return order


def shortest_prefix(holds: Callable[[int], bool], longest: int) -> int:
    """The least length for which `holds` is true, by bisection; it must be true for the longest.

    If `holds` is true for some length but not for all greater ones, the result is a length for which it is true while
    it is false for one less.
    """
    if holds(0):
        return 0
    low, high = 0, longest
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
