"""Top-down specialization: classes are split by the labels one level below their own, as long as the score falls.

Source: Fung, Wang, Yu 2005, for whole columns; here every class is specialized by itself, as in Mondrian (LeFevre,
DeWitt, Ramakrishnan 2006). Labels whose records cannot be released by themselves stay together under the label that
they had.
"""

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control
from tableveil.local_recoding.judge import Judge
from tableveil.local_recoding.labels import ColumnLabels, CombinationLabels, sets_of


def top_down(
    labels: CombinationLabels, counts: NDArray[np.int64], judge: Judge, control: Control, classes: NDArray[np.int64]
) -> None:
    """Splits the classes in place until no split saves anything, or the control stops it: they are valid at any time.

    Classes are numbered from 0 without gaps, and so are those that come out.
    """
    rows = np.flatnonzero(classes >= 0)
    refused = np.zeros((int(classes.max(initial=-1)) + 1, len(labels.columns)), np.bool_)
    while len(rows):
        order, starts = sets_of(classes[rows])
        rows = rows[order]
        sets = labels.of_sets(rows, starts)
        numbers = classes[rows[starts]]
        member = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
        best = np.zeros(len(starts))
        column_of = np.full(len(starts), -1)
        part = np.full(len(rows), -1)
        records, smallest = counts[rows], judge.smallest
        for j, column in enumerate(labels.columns):
            if control.must_stop:
                return
            saved, parts = _specialized(column, labels.values[rows, j], records, member, sets.levels[:, j], smallest)
            saved[refused[numbers, j]] = 0.0
            better = saved > best
            best[better], column_of[better] = saved[better], j
            chosen = better[member]
            part[chosen] = parts[chosen]
        split = best > 0
        inside = split[member]
        rows, member, part = rows[inside], member[inside], part[inside]
        if not len(rows):
            return
        # Part 0 is the rest, which keeps the number of the class.
        keys = member * (int(part.max()) + 1) + part
        _, first, key = np.unique(keys, return_index=True, return_inverse=True)
        by_key = np.argsort(key, kind="stable")
        ends = np.searchsorted(key[by_key], np.arange(len(first)))
        valid = judge.releasable(rows[by_key], ends)
        holds = np.ones(len(starts), np.bool_)
        np.logical_and.at(holds, member[first], valid)
        refused[numbers[split & ~holds], column_of[split & ~holds]] = True
        new = holds[member[first]]
        # One part of each class keeps its number.
        keeps = np.zeros(len(first), np.bool_)
        keeps[np.unique(member[first], return_index=True)[1]] = True
        number = numbers[member[first]]
        fresh = new & ~keeps
        number[fresh] = len(refused) + np.arange(np.count_nonzero(fresh))
        refused = np.concatenate([refused, np.zeros((np.count_nonzero(fresh), refused.shape[1]), np.bool_)])
        changed = new[key]
        classes[rows[changed]] = number[key[changed]]


def _specialized(
    column: ColumnLabels,
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    member: NDArray[np.intp],
    levels: NDArray[np.int64],
    smallest: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The savings of each class if it is specialized in the column, and per row its part: 0 for the rest."""
    below = np.maximum(levels - 1, 0)[member]
    group = column.groups[below, values]
    width = int(group.max()) + 1
    _, first, part = np.unique(member * width + group, return_index=True, return_inverse=True)
    sizes = np.bincount(part, counts)
    of = member[first]
    enough = (sizes >= smallest) & (levels[of] > 0)
    number = len(levels)
    rest = np.bincount(of, np.where(enough, 0, sizes), number)
    held = np.bincount(of, np.where(enough, 0, 1), number) > 0
    # A rest that is too small is joined by the smallest part.
    order = np.lexsort((sizes, ~enough, of))
    smallest_part = order[np.unique(of[order], return_index=True)[1]]
    short = held & (rest < smallest)
    enough[smallest_part[short]] = False
    gain = column.costs[levels[of], values[first]] - column.costs[below[first], values[first]]
    saved = np.bincount(of, np.where(enough, sizes * gain, 0.0), number).astype(np.float64)
    ranks = np.where(enough, np.arange(len(first)) + 1, 0).astype(np.int64)
    return saved, ranks[part]
