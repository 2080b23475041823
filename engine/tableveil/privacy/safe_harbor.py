"""HIPAA's Safe Harbor: the levels that the search may use keep it, so nothing is rejected."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.policy import SafeHarbor
from tableveil.privacy.model import ReleaseRule


@dataclass(frozen=True)
class SafeHarborRule(ReleaseRule):
    """Every class may be released: the lattice has no level that Safe Harbor forbids (`Policy.least_level`)."""

    model: SafeHarbor

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """All classes."""
        return np.ones(len(classes.counts), np.bool_)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Safe Harbor has no parameter, and refuses nothing."""
        return None
