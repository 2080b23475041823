"""The people left behind: they have rows in earlier releases, and none in the new one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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

    Each set of earlier releases that were judged with each other is judged alone as well, for its readers: people who
    are all of a combination of all releases may be a few of a larger one there.
    """

    k: int
    earlier: EarlierClasses

    by_sample = True
    # A finer transformation may leave all classes that a coarser one has to suppress.
    monotone = False

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """All classes except the smallest, and of equal ones the first, of combinations that leave too few behind.

        A class that is suppressed leaves at least k people behind in every set of releases, so that one pass suffices.
        """
        kept = np.ones(len(classes.counts), np.bool_)
        for codes, people in self._sets:
            combination = codes[combinations_of(classes)]
            few = self._few(combination[kept], classes.counts[kept], people)
            places = np.flatnonzero(kept)
            order = places[np.lexsort((places, classes.counts[places], combination[places]))]
            _, first = np.unique(combination[order], return_index=True)
            smallest = order[first]
            kept[smallest[few[combination[smallest]]]] = False
        return kept

    def too_few(self, released: EquivalenceClasses) -> NDArray[np.bool_]:
        """Per combination of all releases, whether it leaves some people behind, but fewer than k and not all."""
        return self._few(combinations_of(released), released.counts, self.earlier.people)[:-1]

    @cached_property
    def _sets(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Per set of releases the code that each combination becomes, and the people of each of these."""
        every = (np.arange(self.earlier.combinations), self.earlier.people)
        return [every, *(self.earlier.among(some)[1:] for some in self.earlier.together)]

    def _few(
        self, combination: NDArray[np.int64], counts: NDArray[np.int64], people: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Per combination, whether it leaves some of its people behind, but fewer than k and not all; last: none."""
        left = people - np.bincount(combination, counts, len(people) + 1).astype(np.int64)[:-1]
        return np.append((left > 0) & (left < np.minimum(self.k, people)), False)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers nothing: k is another model's."""
        return None


def left_behind(earlier: EarlierClasses, released: EquivalenceClasses) -> NDArray[np.int64]:
    """Per combination of earlier classes, its people without a row among the released classes."""
    rows = np.bincount(combinations_of(released), released.counts, earlier.combinations).astype(np.int64)
    return earlier.people - rows[:-1]
