"""One checked transformation: its classes, and the records in classes too small for any release."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.counter import ClassCounter
from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.lattice import Transformation


@dataclass(slots=True)
class Check:
    """What counting one transformation told; `minimum_size` is the class size that the privacy models imply.

    The records in classes below that size are in such classes at every finer transformation too: what is known about
    them is inherited by everything below `at`.
    """

    counter: ClassCounter
    at: Transformation
    minimum_size: int
    classes: EquivalenceClasses = field(init=False)
    below: int = field(init=False)
    """Records in classes below the size, and the withheld ones."""
    _marginals: Marginals | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.classes = self.counter.classes(self.at)
        counts = self.classes.counts
        self.below = self.counter.withheld + int(counts[counts < self.minimum_size].sum())

    @property
    def small(self) -> NDArray[np.bool_]:
        """Per class, whether it is below the size."""
        return self.classes.counts < self.minimum_size

    @property
    def marginals(self) -> Marginals:
        """The records in classes below the size, withheld ones not included."""
        if self._marginals is None:
            self._marginals = self.counter.small_classes(self.at, self.minimum_size)
        return self._marginals
