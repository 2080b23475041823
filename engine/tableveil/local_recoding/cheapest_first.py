"""Cheapest first by cell: free combinations that share a cheap label become a class, the cheapest labels first."""

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control
from tableveil.local_recoding.cells import Cells
from tableveil.local_recoding.judge import Judge
from tableveil.local_recoding.labels import sets_of
from tableveil.local_recoding.problem import SUPPRESSED

MOST_TOGETHER = 1 << 22
"""Combinations in the cells that are ordered at once, counted in each of their cells: more are taken in parts."""


def cheapest_first(
    cells: Cells,
    counts: NDArray[np.int64],
    rows: NDArray[np.intp],
    judge: Judge,
    control: Control,
    classes: NDArray[np.int64],
) -> None:
    """Numbers the classes found among the rows, from the highest existing number; the other combinations stay free.

    Once the deadline has come, it leaves all combinations free that are free then.

    Raises:
        Stopped: `control` says so; the classes found so far are in `classes`.
    """
    taking = _Taking(counts, rows, judge, control, classes)
    for band in cells.bands():
        left = np.flatnonzero(taking.ceilings > 0)
        if int(counts[left].sum()) < judge.smallest:
            break
        cells.within(band, left, taking.ceilings, True, taking.note, overlapping=True)
        taking.take()


class _Taking:
    """The cells that were found, and the combinations that no class has: their ceilings are above 0."""

    def __init__(
        self,
        counts: NDArray[np.int64],
        rows: NDArray[np.intp],
        judge: Judge,
        control: Control,
        classes: NDArray[np.int64],
    ) -> None:
        self._counts = counts
        self._judge = judge
        self._control = control
        self._classes = classes
        self._number = int(classes.max(initial=SUPPRESSED)) + 1
        self.ceilings = np.zeros(len(counts))
        self.ceilings[rows] = np.inf
        self._noted: list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]] = []
        self._size = 0

    def note(self, members: NDArray[np.intp], starts: NDArray[np.intp], costs: NDArray[np.float64]) -> None:
        """Notes cells, which may overlap."""
        self._noted.append((members, np.diff(starts, append=len(members)), costs))
        self._size += len(members)
        if self._size > MOST_TOGETHER:
            self.take()

    def take(self) -> None:
        """Makes classes of the cells noted, in the order of their costs, each of what the ones before it left.

        A cell that is the cheapest one left of each of its combinations waits for no other: all such are made at once.
        """
        if not self._noted:
            return
        members, lengths, costs = (np.concatenate(part) for part in zip(*self._noted, strict=True))
        self._noted, self._size = [], 0
        rank = np.empty(len(costs), np.int64)
        rank[np.argsort(costs, kind="stable")] = np.arange(len(costs))
        cells = np.repeat(rank, lengths)
        order, _ = sets_of(cells)
        members, cells = members[order], cells[order]
        first = np.empty(len(self._counts), np.int64)
        while True:
            self._control.raise_if_stopped()
            starts = np.flatnonzero(np.diff(cells, prepend=-1))
            if not len(starts):
                return
            lengths = np.diff(starts, append=len(cells))
            # Where an index has several values, numpy assigns the last.
            first[members[::-1]] = cells[::-1]
            next_ = np.logical_and.reduceat(first[members] == cells, starts)
            judged = np.repeat(next_, lengths)
            self._make(members[judged], lengths[next_])
            free = ~judged & (self.ceilings[members] > 0)
            members, cells = members[free], cells[free]
            starts = np.flatnonzero(np.diff(cells, prepend=-1))
            if len(starts):
                large = np.add.reduceat(self._counts[members], starts) >= self._judge.smallest
                kept = np.repeat(large, np.diff(starts, append=len(cells)))
                members, cells = members[kept], cells[kept]

    def _make(self, members: NDArray[np.intp], lengths: NDArray[np.intp]) -> None:
        """Makes classes of those sets that may be released."""
        kept = self._judge.releasable(members, np.cumsum(lengths) - lengths)
        taken = members[np.repeat(kept, lengths)]
        made = np.count_nonzero(kept)
        self._classes[taken] = np.repeat(self._number + np.arange(made), lengths[kept])
        self.ceilings[taken] = -1.0
        self._number += made
