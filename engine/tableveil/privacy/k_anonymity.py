"""k-anonymity: a released record shares its quasi-identifiers with at least k-1 others."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.policy import KAnonymity
from tableveil.privacy.column_rule import highest_for
from tableveil.privacy.model import ReleaseRule


@dataclass(frozen=True)
class KAnonymityRule(ReleaseRule):
    """Classes of at least k records may be released (Samarati and Sweeney 1998)."""

    model: KAnonymity

    sizes_only = True

    @property
    def minimum_class_size(self) -> int:
        """The model's k."""
        return self.model.k

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes of at least k records."""
        return classes.counts >= self.model.k

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest k; 1 promises nothing."""
        k = highest_for(classes.counts.astype(np.float64), classes.counts, suppressible)
        return f"k = {k:.0f}" if k is not None and k >= 2 else None
