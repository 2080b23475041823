"""The Protocol by which the search counts equivalence classes, in a database or with numpy in memory."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.classes.sensitive import SensitiveColumn
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


class ClassCounter(Protocol):
    """Counts the classes of any transformation of one table.

    Implementations raise `tableveil.control.Stopped` when they are interrupted while counting.
    """

    @property
    def name(self) -> str:
        """The counter's name, for the evidence."""
        ...

    @property
    def account(self) -> str:
        """How classes were counted so far, in one sentence without a full stop, for the evidence."""
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

    @property
    def sensitive(self) -> tuple[SensitiveColumn, ...]:
        """The columns whose values the classes know, in the order of `EquivalenceClasses.values`.

        Sensitive ones first, then aggregated ones, then combinations of features with a class.
        """
        ...

    @property
    def population(self) -> int | None:
        """Records of the population, including those in no class; None if the population is not counted."""
        ...

    def marginals(self) -> Marginals:
        """All records but the withheld ones, per code."""
        ...

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation."""
        ...

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        """Whether it is proven, for less than counting, that over `most` records are in classes of fewer than `size`.

        False proves nothing. Withheld records are in no class.
        """
        ...

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        """The records in some of the classes at the transformation: `mask` is over what `classes` returned for it."""
        ...
