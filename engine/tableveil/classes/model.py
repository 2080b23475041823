"""The equivalence classes at one transformation, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.keys import KeyLayout


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
