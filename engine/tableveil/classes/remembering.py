"""A counter that remembers its answers, for searches that ask for one transformation more than once."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.counter import ClassCounter
from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.classes.sensitive import SensitiveColumn
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Transformation


class RememberingCounter:
    """Keeps the latest classes, up to `budget` bytes of them; `counted` is how often it had to count."""

    def __init__(self, counter: ClassCounter, budget: int) -> None:
        self._counter = counter
        self._budget = budget
        self._classes: OrderedDict[Transformation, EquivalenceClasses] = OrderedDict()
        self._bytes = 0
        self.counted = 0

    @property
    def name(self) -> str:
        """The counter's name, for the evidence."""
        return self._counter.name

    @property
    def account(self) -> str:
        """How classes were counted so far, in one sentence."""
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
        """The sensitive columns whose values the classes know."""
        return self._counter.sensitive

    @property
    def population(self) -> int | None:
        """Records of the population, including those in no class; None if the population is not counted."""
        return self._counter.population

    def marginals(self) -> Marginals:
        """All records but the withheld ones, per code."""
        return self._counter.marginals()

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation, counted or remembered."""
        known = self._classes.get(transformation)
        if known is not None:
            self._classes.move_to_end(transformation)
            return known
        classes = self._counter.classes(transformation)
        self.counted += 1
        self._classes[transformation] = classes
        self._bytes += _bytes(classes)
        while self._bytes > self._budget and len(self._classes) > 1:
            _, forgotten = self._classes.popitem(last=False)
            self._bytes -= _bytes(forgotten)
        return classes

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        """The records in some of the classes at the transformation."""
        return self._counter.records_in(transformation, mask)


def _bytes(classes: EquivalenceClasses) -> int:
    details = 0 if classes.details is None else classes.details.nbytes
    return classes.counts.nbytes + sum(word.nbytes for word in classes.words) + details
