"""k-anonymity: no released record can be told from fewer than k-1 others by its quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.policy import KAnonymity


@dataclass(frozen=True, slots=True)
class KAnonymityRule:
    """Classes of at least k records may be released (Samarati and Sweeney 1998)."""

    model: KAnonymity

    @property
    def minimum_class_size(self) -> int:
        """K itself."""
        return self.model.k

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes of at least k records."""
        return classes.counts >= self.model.k
