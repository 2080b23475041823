"""A counter that stands before another one and answers some of what it is asked in another way."""

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.counter import ClassCounter
from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.classes.sensitive import SensitiveColumn
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


class DelegatingCounter:
    """Answers as its counter does; a subclass says what is different. See `ClassCounter` for the meanings."""

    def __init__(self, counter: ClassCounter) -> None:
        self._counter = counter

    @property
    def name(self) -> str:
        """The counter's name."""
        return self._counter.name

    @property
    def account(self) -> str:
        """How the counter counted so far."""
        return self._counter.account

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Per quasi-identifier: its codes, groups and leaves."""
        return self._counter.levels

    @property
    def records(self) -> int:
        """N, withheld records included."""
        return self._counter.records

    @property
    def withheld(self) -> int:
        """Records suppressed at every transformation."""
        return self._counter.withheld

    @property
    def sensitive(self) -> tuple[SensitiveColumn, ...]:
        """The columns whose values the classes know."""
        return self._counter.sensitive

    @property
    def population(self) -> int | None:
        """Records of the population; None if it is not counted."""
        return self._counter.population

    def marginals(self) -> Marginals:
        """All records but the withheld ones, per code."""
        return self._counter.marginals()

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation."""
        return self._counter.classes(transformation)

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        """Whether it is proven cheaply that so many records are in small classes."""
        return self._counter.too_many_small(transformation, size, most)

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        """The records in some of the classes at the transformation."""
        return self._counter.records_in(transformation, mask)
