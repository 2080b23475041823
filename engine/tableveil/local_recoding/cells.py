"""Finds cells, the sets of combinations with the same labels at some levels, in bands of ascending cost.

The levels are fixed column by column, depth first. On the way down, the combinations are split by the labels fixed so
far, as if all other columns had the most general label. A set is left out with everything below it if it is too small,
costs too much already, or cannot reach the band. So the lattice is never enumerated.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control, Stopped
from tableveil.local_recoding.labels import FORBIDDEN, CombinationLabels

STEP = 1.12**3
"""The ratio of the bounds of a band: each band is a walk from the first column, and finer ones hold fewer cells."""

BANDS = 23
"""The cheapest bands are taken together: cells that cost next to nothing need no order."""

MOST_VISITED = 20_000_000_000
"""Combinations that are looked at, all levels counted, before the search gives up: some twenty minutes."""

VISITED_QUICKLY = 10_000_000
"""As many where recodings are only compared: 800 people in 10 columns lost a hundredth more in a third of the time."""

TOGETHER = 1 << 17
"""Combinations of sets at different levels that are split together, for a caller that lets cells overlap."""

ROUNDING = 1e-9
"""By how much sums of the same costs may differ."""

Found = Callable[[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]], None]
"""Is given cells: the rows in the order of their cells, where each starts, and the cost of each."""


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """See `Cells.within`."""

    band: tuple[float, float]
    ceilings: NDArray[np.float64]
    alone: bool
    found: Found
    together: int


class Cells:
    """The cells of combinations that hold at least `smallest` records; `most` combinations are visited to find them."""

    def __init__(
        self,
        labels: CombinationLabels,
        counts: NDArray[np.int64],
        smallest: int,
        control: Control,
        most: int = MOST_VISITED,
    ) -> None:
        self._most = most
        self._counts = counts
        self._smallest = smallest
        self._control = control
        self._visited = 0
        random = np.random.default_rng(0)
        # Columns with many values first: they split most.
        self._columns = sorted(range(len(labels.columns)), key=lambda j: -labels.columns[j].groups.shape[1])
        self._costs, self._keys, self._same = [], [], []
        for j in self._columns:
            column, values = labels.columns[j], labels.values[:, j]
            self._costs.append([costs[values] for costs in column.costs[:-1]])
            # Random keys of labels, that sums of keys tell label combinations apart.
            keys = [random.integers(0, 2**63, groups.max(initial=0) + 1, np.int64) for groups in column.groups]
            self._keys.append([key[groups][values] for key, groups in zip(keys, column.groups, strict=True)])
            self._same.append([groups.max(initial=0) == 0 for groups in column.groups])
        highest = [max(float(c.max(initial=0)) for c in costs) for costs in self._costs]
        self._rest = [sum(highest[i:]) for i in range(len(highest) + 1)]
        lowest = [min(float(c.min(initial=FORBIDDEN)) for c in costs) for costs in self._costs]
        self._least_rest = [sum(lowest[i:]) for i in range(len(lowest) + 1)]

    def bands(self) -> Iterator[tuple[float, float]]:
        """All costs that cells may have, from above the first to the second number."""
        bounds = self._rest[0] * (1 + ROUNDING) / STEP ** np.arange(BANDS, -1, -1)
        return pairwise([-1.0, *bounds.tolist()])

    def within(
        self,
        band: tuple[float, float],
        rows: NDArray[np.intp],
        ceilings: NDArray[np.float64],
        alone: bool,
        found: Found,
        *,
        overlapping: bool = False,
    ) -> None:
        """Tells of all cells of the rows whose cost is in the band, above its low and up to its high end.

        Only those are told of in which some combination's ceiling is above the cost. `found` may lower ceilings. If
        `alone`, combinations whose ceiling is not above the cost are not counted either. Cells that are told of
        together have the same levels, unless they may be `overlapping`: that takes a fraction of the time.
        """
        wanted = _Wanted(band, ceilings, alone, found, TOGETHER if overlapping else 0)
        self._descend(0, rows, np.zeros(len(rows), np.int64), np.zeros(len(rows)), wanted)

    def _descend(
        self, depth: int, rows: NDArray[np.intp], keys: NDArray[np.int64], costs: NDArray[np.float64], wanted: _Wanted
    ) -> None:
        self._control.raise_if_stopped()
        self._visited += len(rows) * len(self._costs[depth])
        if self._visited > self._most:
            raise Stopped
        (low, high), ceilings, alone = wanted.band, wanted.ceilings, wanted.alone
        waiting: list[tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]] = []
        for level in range(len(self._costs[depth])):
            now = costs + self._costs[depth][level][rows]
            chosen = (now + self._least_rest[depth + 1] <= high) & (now + self._rest[depth + 1] > low)
            if alone:
                chosen &= ceilings[rows] > now
            if not chosen.any():
                continue
            these, now = rows[chosen], now[chosen]
            key = keys[chosen] + self._keys[depth][level][these]
            last = depth + 1 == len(self._columns)
            if not self._same[depth][level] or last or (alone and len(these) < len(rows)):
                order = np.argsort(key, kind="stable")
                ordered = key[order]
                starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
                these = these[order]
                kept = np.add.reduceat(self._counts[these], starts) >= self._smallest
                if not alone:
                    kept &= np.logical_or.reduceat((ceilings[these] > now[order]), starts)
                if not kept.any():
                    continue
                lengths = np.diff(starts, append=len(these))
                member = np.repeat(kept, lengths)
                these, key, now = these[member], ordered[member], now[order][member]
                if last:
                    lengths = lengths[kept]
                    starts = np.cumsum(lengths) - lengths
                    wanted.found(these, starts, now[starts])
                    continue
            waiting.append((these, key, now))
            if sum(len(part[0]) for part in waiting) >= wanted.together:
                self._descend_all(depth + 1, waiting, wanted)
                waiting = []
        self._descend_all(depth + 1, waiting, wanted)

    def _descend_all(
        self, depth: int, parts: list[tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]], wanted: _Wanted
    ) -> None:
        if parts:
            rows, keys, costs = (np.concatenate(column) for column in zip(*parts, strict=True))
            self._descend(depth, rows, keys, costs, wanted)
