"""Counters before another one: they answer some questions in another way, remember answers, or measure work."""

from collections import OrderedDict

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


LOOKS_PER_CHECK = 50
"""A search looks at the clock between steps that count nothing, such as a bound: each takes about so much less."""


class Effort:
    """How often its counters were asked for classes, and how often the work looked at this clock."""

    def __init__(self) -> None:
        self.checks = 0
        self._looks = 0

    def __call__(self) -> float:
        """The checks so far; a look is a small part of one."""
        self._looks += 1
        return self.checks + self._looks / LOOKS_PER_CHECK

    def counting(self, counter: ClassCounter) -> ClassCounter:
        """The counter, of whose answers each is a check."""
        return _Counting(counter, self)


class _Counting(DelegatingCounter):
    def __init__(self, counter: ClassCounter, effort: Effort) -> None:
        super().__init__(counter)
        self._effort = effort

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """See `ClassCounter`."""
        self._effort.checks += 1
        return super().classes(transformation)

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        """See `ClassCounter`."""
        too_many = super().too_many_small(transformation, size, most)
        self._effort.checks += too_many
        return too_many


class RememberingCounter(DelegatingCounter):
    """Keeps the latest classes, up to `budget` bytes of them; `counted` is how often it had to count."""

    def __init__(self, counter: ClassCounter, budget: int) -> None:
        super().__init__(counter)
        self._budget = budget
        self._classes: OrderedDict[Transformation, EquivalenceClasses] = OrderedDict()
        self._bytes = 0
        self.counted = 0

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation, counted or remembered."""
        remembered = self._classes.get(transformation)
        if remembered is not None:
            self._classes.move_to_end(transformation)
            return remembered
        classes = self._counter.classes(transformation)
        self.counted += 1
        self._classes[transformation] = classes
        self._bytes += _bytes(classes)
        while self._bytes > self._budget and len(self._classes) > 1:
            _, forgotten = self._classes.popitem(last=False)
            self._bytes -= _bytes(forgotten)
        return classes

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        """Whether it is proven that so many records are in small classes; classes that are remembered are not asked."""
        if transformation in self._classes or not super().too_many_small(transformation, size, most):
            return False
        self.counted += 1
        return True


def _bytes(classes: EquivalenceClasses) -> int:
    details = 0 if classes.details is None else classes.details.nbytes
    return classes.counts.nbytes + sum(word.nbytes for word in classes.words) + details
