"""What every privacy model must be able to say."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses


class ReleaseRule(Protocol):
    """Decides class by class what may be released."""

    @property
    def minimum_class_size(self) -> int:
        """Every releasable class has at least this many records (1 if the model implies no size).

        The search inherits failures downwards by this size alone: records in classes smaller than it stay in such
        classes at every finer transformation, which does not hold for a model's own failing classes in general.
        """
        ...

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Per class, whether it may be released."""
        ...
