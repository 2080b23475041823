"""Fits of ordered own values that are aggregated: all that are near enough stand for an own value."""

import numpy as np
from numpy.typing import NDArray

from tableveil.privacy.exposure.cells import Codes, ValuePairs, counted, ranked, totals
from tableveil.privacy.exposure.rows import ByValues, HeldValues, compared
from tableveil.risk.unchanged import ACCIDENT, OF_CHANCE


def by_ranges(code: Codes, held: HeldValues, positions: NDArray[np.float64], cells: ValuePairs) -> ByValues:
    """A judgement by the values that occur with own values within half the width of the record's class.

    Own values are codes of ascending `positions`; `cells` pairs them with values.
    """
    rows, mine, starts = held.rows, positions[code], held.rows.first[:-1]
    own, number = ranked(rows.classes, code)
    first = np.unique(own, return_index=True)[1]
    half = (np.maximum.reduceat(mine, starts) - np.minimum.reduceat(mine, starts))[rows.classes[first]] / 2
    low = np.searchsorted(positions, mine[first] - half, side="left")
    high = np.searchsorted(positions, mine[first] + half, side="right")
    by_value = counted(cells.value, cells.own, cells.records, cells.values, cells.owns)
    of_own = np.concatenate([[0], np.cumsum(totals(cells.own, cells.records, cells.owns))])
    of_cells, fitting = np.concatenate([[0], np.cumsum(by_value.records)]), [np.zeros(0, np.int64)]
    for start, _, group, others in compared(rows, first):
        at, value = start + group, held.value[others]
        before, upto = (of_cells[np.searchsorted(by_value.keys, value * cells.owns + end[at])] for end in (low, high))
        paired, within = upto - before, of_own[high[at]] - of_own[low[at]]
        expected = within * by_value.of_own[value].astype(np.float64) / max(int(of_own[-1]), 1)
        fit = (paired > 0) & ((paired >= ACCIDENT * within) | (paired >= OF_CHANCE * expected))
        fitting.append(np.unique(at[fit] * held.values + value[fit]))
    keys = np.concatenate(fitting)
    pairs = ValuePairs(keys // held.values, keys % held.values, np.ones(len(keys), np.int64), number, held.values)
    return ByValues(own, held, pairs, np.ones(number, np.bool_))
