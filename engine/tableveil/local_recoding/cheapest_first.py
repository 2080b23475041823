"""Cheapest first by cell: free combinations that share a cheap label become a class, the cheapest labels first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control
from tableveil.local_recoding.cells import Cells
from tableveil.local_recoding.judge import Judge
from tableveil.local_recoding.labels import CombinationLabels
from tableveil.local_recoding.problem import SUPPRESSED


def cheapest_first(
    labels: CombinationLabels,
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
    cells = Cells(labels, counts, judge.smallest, control)
    ceilings = np.zeros(len(counts))
    ceilings[rows] = np.inf
    number = int(classes.max(initial=SUPPRESSED)) + 1

    def take(members: NDArray[np.intp], starts: NDArray[np.intp], _: NDArray[np.float64]) -> None:
        nonlocal number
        kept = judge.releasable(members, starts)
        lengths = np.diff(starts, append=len(members))
        taken = members[np.repeat(kept, lengths)]
        classes[taken] = np.repeat(number + np.arange(np.count_nonzero(kept)), lengths[kept])
        ceilings[taken] = -1.0
        number += np.count_nonzero(kept)

    for band in cells.bands():
        left = np.flatnonzero(ceilings > 0)
        if int(counts[left].sum()) < judge.smallest:
            break
        cells.within(band, left, ceilings, True, take)
