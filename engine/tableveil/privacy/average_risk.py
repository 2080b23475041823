"""Average re-identification risk: of all released records together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.policy import AverageRisk
from tableveil.privacy.by_sample import SampleRule


@dataclass(frozen=True)
class AverageRiskRule(SampleRule[AverageRisk]):
    """The average of 1 / size of the class over all released records must not be above a threshold.

    That is the number of classes by the number of records. Source: El Emam et al. 2013, strict average risk.
    """

    def measure(self, sizes: NDArray[np.int64]) -> float:
        """Classes by records."""
        return average_risk(sizes)

    def holds(self, sizes: NDArray[np.int64]) -> bool:
        """Compared in whole numbers."""
        numerator, denominator = self.model.threshold.as_integer_ratio()
        return len(sizes) * denominator <= numerator * int(sizes.sum())


def average_risk(counts: NDArray[np.int64]) -> float:
    """Number of classes by number of records; of one class at least."""
    return len(counts) / int(counts.sum())
