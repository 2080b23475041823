"""Fits of ordered own values that are aggregated: all that are near enough stand for an own value."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.privacy.exposure.cells import Codes, Flags, ValuePairs, ranked, totals
from tableveil.privacy.exposure.rows import ClassRows, compared
from tableveil.risk.unchanged import ACCIDENT, OF_CHANCE


@dataclass(frozen=True, eq=False)
class ByRanges:
    """A judgement by the values that occur with own values within half the width of the record's class.

    Own values are codes of ascending `positions`; `cells` pairs values, first, with own values.
    """

    rows: ClassRows
    code: Codes
    value: Codes
    positions: NDArray[np.float64]
    cells: ValuePairs

    @cached_property
    def own(self) -> Codes:
        """See `Judgement`."""
        return ranked(self.rows.classes, self.code)[0]

    @cached_property
    def _range(self) -> tuple[Codes, Codes]:
        """The first position in each row's range, and the first one behind it."""
        mine = self.positions[self.code]
        starts = self.rows.first[:-1]
        half = (np.maximum.reduceat(mine, starts) - np.minimum.reduceat(mine, starts))[self.rows.classes] / 2
        return (
            np.searchsorted(self.positions, mine - half, side="left"),
            np.searchsorted(self.positions, mine + half, side="right"),
        )

    @cached_property
    def _running(self) -> tuple[Codes, Codes]:
        own = totals(self.cells.value, self.cells.records, self.cells.values)
        return np.concatenate([[0], np.cumsum(own)]), np.concatenate([[0], np.cumsum(self.cells.records)])

    def fits(self, mine: Codes, others: Codes) -> Flags:
        """See `Judgement`."""
        low, high = self._range[0][mine], self._range[1][mine]
        of_own, of_cells = self._running
        value = self.value[others]
        keys, width = self.cells.keys, self.cells.values
        paired = (
            of_cells[np.searchsorted(keys, value * width + high)] - of_cells[np.searchsorted(keys, value * width + low)]
        )
        own = of_own[high] - of_own[low]
        expected = own * self.cells.of_own[value].astype(np.float64) / max(int(of_own[-1]), 1)
        fits: Flags = (paired > 0) & ((paired >= ACCIDENT * own) | (paired >= OF_CHANCE * expected))
        return fits

    def outside(self) -> Codes:
        """See `Judgement`."""
        rows = self.rows
        _, first, place = np.unique(self.own, return_index=True, return_inverse=True)
        outside = np.zeros(len(first), np.int64)
        for start, mine, group, others in compared(rows, first):
            strange = ~self.fits(mine[group], others)
            outside[start : start + len(mine)] = totals(group[strange], rows.records_of(others[strange]), len(mine))
        return outside[place]
