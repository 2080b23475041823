"""The equivalence classes at one transformation, and sets of records by what their attributes are, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.keys import KeyLayout
from tableveil.lattice import Transformation


@dataclass(frozen=True, slots=True)
class EquivalenceClasses:
    """One entry per class: its packed key (one array per word of `layout`) and its number of records.

    Classes come in no particular order. Records withheld by NULL handling are in none of them.
    """

    layout: KeyLayout
    words: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]

    def groups(self, attribute: int) -> NDArray[np.int64]:
        """Per class, the group number of the attribute at its level."""
        return self.layout.unpack(self.words, attribute)


@dataclass(frozen=True, slots=True)
class Marginals:
    """How a set of records spreads over each quasi-identifier by itself.

    `counts[j][g]` records are in group g of quasi-identifier j at its level in `at`.
    """

    at: Transformation
    counts: tuple[NDArray[np.int64], ...]
