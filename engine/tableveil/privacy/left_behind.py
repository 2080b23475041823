"""The people left behind: they have rows in earlier releases, and none in the new one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EarlierClasses, EquivalenceClasses, combinations_of
from tableveil.privacy.model import ReleaseRule


@dataclass(frozen=True, eq=False)
class LeftBehindRule(ReleaseRule):
    """Nobody, at least k people, or all of each combination of earlier classes are left without a row.

    An adversary who links the rows of all releases sees which rows of a combination have none in the new one. These
    belong to the people of the combination who left or are suppressed: if they are fewer than k, fewer than k people
    could be each of them. All of a combination are not told apart by being left. Where too few are left behind, the
    smallest class of the combination is suppressed as well: it has at least k people, so that one suffices.
    """

    k: int
    earlier: EarlierClasses

    by_sample = True
    # A finer transformation may leave all classes that a coarser one has to suppress.
    monotone = False

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """All classes except the smallest, and of equal ones the first, of combinations that leave too few behind."""
        combination = combinations_of(classes)
        too_few = np.append(self.too_few(classes), False)
        order = np.lexsort((np.arange(len(combination)), classes.counts, combination))
        _, first = np.unique(combination[order], return_index=True)
        smallest = order[first]
        kept = np.ones(len(combination), np.bool_)
        kept[smallest[too_few[combination[smallest]]]] = False
        return kept

    def too_few(self, released: EquivalenceClasses) -> NDArray[np.bool_]:
        """Per combination, whether it leaves some of its people behind, but fewer than k and not all."""
        left = left_behind(self.earlier, released)
        few: NDArray[np.bool_] = (left > 0) & (left < np.minimum(self.k, self.earlier.people))
        return few

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers nothing: k is another model's."""
        return None


def left_behind(earlier: EarlierClasses, released: EquivalenceClasses) -> NDArray[np.int64]:
    """Per combination of earlier classes, its people without a row among the released classes."""
    rows = np.bincount(combinations_of(released), released.counts, earlier.combinations).astype(np.int64)
    return earlier.people - rows[:-1]
