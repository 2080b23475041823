"""Average re-identification risk, over all released records together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.policy import AverageRisk
from tableveil.privacy.by_sample import SampleRule


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


def average_risk(counts: NDArray[np.int64]) -> float:
    """Number of classes divided by number of records, for at least one class."""
    return len(counts) / int(counts.sum())
