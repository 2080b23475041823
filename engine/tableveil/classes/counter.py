"""What the search asks of whoever counts equivalence classes: a database, or numpy in memory."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.model import EquivalenceClasses
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


class ClassCounter(Protocol):
    """Counts the classes of any transformation of one table.

    Implementations raise `tableveil.search.Stopped` when they are interrupted while counting.
    """

    @property
    def name(self) -> str:
        """Who counts, for the evidence."""
        ...

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Per quasi-identifier, in policy order: its codes, groups and leaves."""
        ...

    @property
    def records(self) -> int:
        """N: all records of the source, withheld ones included."""
        ...

    @property
    def withheld(self) -> int:
        """Records that are suppressed at every transformation, because the policy suppresses their NULLs."""
        ...

    def marginals(self) -> tuple[NDArray[np.int64], ...]:
        """Per quasi-identifier, the number of records (without the withheld) per code."""
        ...

    def classes(self, transformation: Transformation, floor: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation.

        `floor` <= transformation is the least transformation that the caller still cares about in this part of the
        lattice, so that counts rolled up to it are fine enough.
        """
        ...

    def small_class_marginals(
        self, transformation: Transformation, minimum_size: int, floor: Transformation
    ) -> tuple[NDArray[np.int64], ...]:
        """Per quasi-identifier, the records in classes of fewer than `minimum_size` at the transformation.

        They are counted per group that the quasi-identifier has at its level in `floor`.
        """
        ...
