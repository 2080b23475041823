"""A clock that measures work instead of time: work that it limits comes out the same on any machine."""

from tableveil.classes.counter import ClassCounter
from tableveil.classes.delegating import DelegatingCounter
from tableveil.classes.model import EquivalenceClasses
from tableveil.lattice import Transformation

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
