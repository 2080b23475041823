"""k-map: a released record shares its quasi-identifiers with at least k-1 others of the population."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.policy import CellSizes, EstimatedKMap, KMap
from tableveil.privacy.column_rule import highest_for
from tableveil.privacy.model import Facts, ReleaseRule

DEVIATIONS, MORE = 15, 50
"""Sizes are tried up to so many standard deviations above the mean, and so many more: larger ones are improbable."""


@dataclass(frozen=True)
class KMapRule(ReleaseRule):
    """Classes of at least k records in the population may be released (Sweeney 2001)."""

    model: KMap

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes whose labels at least k records of the population have."""
        return classes.population() >= self.model.k

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """All records of a class below k: its parts have no more of the population."""
        return np.where(self.releasable(classes), 0, classes.counts)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest k; 1 promises nothing."""
        k = highest_for(classes.population().astype(np.float64), classes.counts, suppressible)
        return f"k = {k:.0f}" if k is not None and k >= 2 else None


@dataclass(frozen=True)
class EstimatedKMapRule(ReleaseRule):
    """Classes of at least k' records may be released; k' is computed from k and the sampling fraction.

    Source: El Emam and Dankar 2008.
    """

    model: EstimatedKMap
    facts: Facts

    sizes_only = True

    @cached_property
    def minimum_class_size(self) -> int:
        """k', the least class size in the sample for this k."""
        return self._sample_class_size(self.model.k)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes of at least k' records."""
        return classes.counts >= self.minimum_class_size

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest k, below that of the model, whose k' is small enough; 1 promises nothing."""
        size = highest_for(classes.counts.astype(np.float64), classes.counts, suppressible)
        if size is None:
            return None
        k = bisect_right(range(2, self.model.k), size, key=self._sample_class_size) + 1
        return f"k = {k}" if k >= 2 else None

    def _sample_class_size(self, k: int) -> int:
        assert self.facts.population_size is not None, "a policy that asks for it tells the population's size"
        fraction = Fraction(self.facts.counter.records, self.facts.population_size)
        return sample_class_size(k, fraction, self.model.significance, self.model.estimator)


def sample_class_size(k: int, fraction: Fraction, significance: Decimal, estimator: CellSizes) -> int:
    """k': a class of k records in the population reaches this size in the sample with little probability.

    The probability is at most the significance: a class that does reach the size was hardly drawn from so few. The
    sizes in the sample are assumed to have a Poisson distribution with the mean k * fraction; or that distribution
    without 0, because classes that are not in the sample are not seen. k' is at most k, which is enough for any sample,
    and k if the sample is the population.

    Source: El Emam and Dankar 2008, the estimators D3 (of Pannekoek 1999) and D4.
    """
    mean = float(k * fraction)
    if fraction >= 1:
        return k
    deviations = DEVIATIONS * math.sqrt(mean)
    first, last = max(0, int(mean - deviations)), int(mean + deviations) + MORE
    sizes = np.arange(first + 1, last + 1)
    # Each probability relative to the next smaller size's; then relative to the largest.
    logarithms = np.concatenate(([0.0], np.cumsum(np.log(mean / sizes))))
    probabilities = np.exp(logarithms - logarithms.max())
    # Per size from `first`, the probability of it or a larger one; the smallest probabilities are added first.
    reaching = np.cumsum(probabilities[::-1])[::-1] / probabilities.sum()
    if estimator is CellSizes.ZERO_TRUNCATED_POISSON:
        reaching /= -math.expm1(-mean)
    smallest = max(1, first + int(np.count_nonzero(reaching > float(significance))))
    return min(k, smallest)


def smallest_population_class(classes: EquivalenceClasses) -> int | None:
    """The least number of records that a class has in the population: k-map holds up to this k.

    None if there are no classes.
    """
    return int(classes.population().min()) if len(classes.counts) else None
