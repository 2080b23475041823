"""Risks of all released records together: the average one, and uniqueness here or in the population."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.policy import AverageRisk, PopulationUniqueness, SampleUniqueness
from tableveil.privacy.by_sample import SampleRule
from tableveil.risk import ClassSizes, population_uniqueness


@dataclass(frozen=True)
class AverageRiskRule(SampleRule[AverageRisk]):
    """The average of 1 / size of the class over all released records must not be above a threshold.

    The average equals the number of classes divided by the number of records. Source: El Emam et al. 2013, strict
    average risk.
    """

    def measure(self, sizes: NDArray[np.int64]) -> float:
        """Classes divided by records."""
        return average_risk(sizes)

    def holds(self, sizes: NDArray[np.int64]) -> bool:
        """Compared in whole numbers."""
        numerator, denominator = self.model.threshold.as_integer_ratio()
        return len(sizes) * denominator <= numerator * int(sizes.sum())


@dataclass(frozen=True)
class SampleUniquenessRule(SampleRule[SampleUniqueness]):
    """The share of the released records that are alone in their class must not be above a threshold."""

    @cached_property
    def minimum_class_size(self) -> int:
        """2 if the threshold is too small for a single unique record among all."""
        numerator, denominator = self.model.threshold.as_integer_ratio()
        return 2 if denominator > numerator * self.facts.counter.records else 1

    def measure(self, sizes: NDArray[np.int64]) -> float:
        """Unique records divided by records."""
        return sample_uniqueness(sizes)

    def holds(self, sizes: NDArray[np.int64]) -> bool:
        """Compared in whole numbers."""
        numerator, denominator = self.model.threshold.as_integer_ratio()
        return int(np.count_nonzero(sizes == 1)) * denominator <= numerator * int(sizes.sum())


@dataclass(frozen=True)
class PopulationUniquenessRule(SampleRule[PopulationUniqueness]):
    """The share of the records that are alone in their class in the population must not be above a threshold.

    The share is estimated from the released records as a sample of the population. Without an estimate nothing is
    released.
    """

    # The effect of joining classes on an estimate is not known.
    monotone = False
    falls_when_joined = False

    def measure(self, sizes: NDArray[np.int64]) -> float | None:
        """The estimated share."""
        assert self.facts.population_size is not None, "a policy that asks for it tells the population's size"
        return population_uniqueness(ClassSizes.of(sizes), self.facts.population_size, self.model.estimator)

    def holds(self, sizes: NDArray[np.int64]) -> bool:
        """Whether there is an estimate that is not above the threshold."""
        estimated = self.measure(sizes)
        # Python compares binary and decimal fractions exactly.
        return estimated is not None and estimated <= self.model.threshold


def sample_uniqueness(counts: NDArray[np.int64]) -> float:
    """The share of the records that are in classes of one, for at least one class."""
    return int(np.count_nonzero(counts == 1)) / int(counts.sum())


def average_risk(counts: NDArray[np.int64]) -> float:
    """Number of classes divided by number of records, for at least one class."""
    return len(counts) / int(counts.sum())
