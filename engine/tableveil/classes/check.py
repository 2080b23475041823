"""One checked transformation: its classes, and the records that are lost at every finer one too."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.counter import ClassCounter
from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.lattice import Transformation


class Losing(Protocol):
    """The records that, as privacy models prove, no transformation up to a checked one can release."""

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64] | None:
        """Per class, how many of its records are lost."""
        ...

    def lost_together(self, classes: EquivalenceClasses) -> int:
        """How many records all the classes lose together, whichever records these are."""
        ...


@dataclass(slots=True)
class Check:
    """The result of counting one transformation; `minimum_size` is the class size that the privacy models imply.

    Records in classes below that size are in such classes at every finer transformation too: everything below `at`
    inherits these losses. `losing`, if given, says how many records of the classes that reach the size no
    transformation from here down can release.
    """

    counter: ClassCounter
    at: Transformation
    minimum_size: int
    losing: Losing | None = None
    classes: EquivalenceClasses = field(init=False)
    too_small: int = field(init=False)
    """Records in classes below the size, and withheld records."""
    _large: EquivalenceClasses | None = field(init=False, default=None)
    _lost: tuple[int, NDArray[np.bool_]] | None = field(init=False, default=None)
    _marginals: Marginals | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.classes = self.counter.classes(self.at)
        self.too_small = self.counter.withheld + int(self.classes.counts[self.small].sum())

    @property
    def below(self) -> int:
        """Records that are lost here and at every finer transformation: those in too small classes, and others."""
        return self.too_small + self._losses()[0]

    @property
    def small(self) -> NDArray[np.bool_]:
        """Per class, whether it is below the size."""
        return self.classes.counts < self.minimum_size

    @property
    def large(self) -> EquivalenceClasses:
        """The classes that reach the size: no other class is released."""
        if self._large is None:
            small = self.small
            self._large = self.classes.selected(~small) if small.any() else self.classes
        return self._large

    @property
    def marginals(self) -> Marginals:
        """The records in classes that are lost as a whole, without the withheld ones."""
        if self._marginals is None:
            self._marginals = self.counter.records_in(self.at, self.gone)
        return self._marginals

    @property
    def gone(self) -> NDArray[np.bool_]:
        """Per class, whether it is lost as a whole."""
        return self._losses()[1]

    def _losses(self) -> tuple[int, NDArray[np.bool_]]:
        """The number of lost records in classes that reach the size; and per class, whether all of it is lost."""
        if self._lost is None:
            gone = self.small
            together = 0
            if self.losing is not None:
                lost = self.losing.lost(self.large)
                together = self.losing.lost_together(self.large)
                if lost is not None:
                    gone[~gone] = lost == self.large.counts
                    together = max(together, int(lost.sum()))
            self._lost = together, gone
        return self._lost

    def among_all(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Turns a mask over `large` into one over `classes`."""
        if self.large is self.classes:
            return mask
        among = ~self.small
        among[among] = mask
        return among
