"""One checked transformation: its classes, and the records that are lost at every finer one too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.counter import ClassCounter
from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.lattice import Transformation

Lost = Callable[[EquivalenceClasses], NDArray[np.int64] | None]


@dataclass(slots=True)
class Check:
    """What counting one transformation told; `minimum_size` is the class size that the privacy models imply.

    The records in classes below that size are in such classes at every finer transformation too: what is known about
    them is inherited by everything below `at`. `lost`, if given, tells of classes that reach the size how many of their
    records no transformation from here down can release.
    """

    counter: ClassCounter
    at: Transformation
    minimum_size: int
    lost: Lost | None = None
    classes: EquivalenceClasses = field(init=False)
    large: EquivalenceClasses = field(init=False)
    """The classes that reach the size: all others are not released, whatever else they are."""
    below: int = field(init=False)
    """Records that are lost here and at every finer transformation: in classes below the size, withheld, or else."""
    _gone: NDArray[np.bool_] = field(init=False)
    _marginals: Marginals | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.classes = self.counter.classes(self.at)
        counts = self.classes.counts
        self._gone = small = self.small
        self.large = self.classes.selected(~small) if small.any() else self.classes
        self.below = self.counter.withheld + int(counts[small].sum())
        lost = None if self.lost is None else self.lost(self.large)
        if lost is not None:
            self.below += int(lost.sum())
            self._gone = small.copy()
            self._gone[~small] = lost == self.large.counts

    @property
    def small(self) -> NDArray[np.bool_]:
        """Per class, whether it is below the size."""
        return self.classes.counts < self.minimum_size

    @property
    def marginals(self) -> Marginals:
        """The records in classes that are lost as a whole, withheld ones not included."""
        if self._marginals is None:
            self._marginals = self.counter.records_in(self.at, self._gone)
        return self._marginals

    def among_all(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A mask over `large` as one over `classes`."""
        if self.large is self.classes:
            return mask
        among = ~self.small
        among[among] = mask
        return among
