"""What the search asks of whoever counts equivalence classes: a database, or numpy in memory."""

from __future__ import annotations

from typing import Protocol

from tableveil.classes.model import EquivalenceClasses, Marginals
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
    def account(self) -> str:
        """What was counted from what so far, in one sentence without a full stop, for the evidence."""
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

    def marginals(self) -> Marginals:
        """All records but the withheld ones, per code."""
        ...

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation."""
        ...

    def small_classes(self, transformation: Transformation, minimum_size: int) -> Marginals:
        """The records in classes of fewer than `minimum_size` at the transformation."""
        ...
