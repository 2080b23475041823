"""Merges classes until all are valid, and classes with equal labels."""

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control
from tableveil.local_recoding.judge import Judge
from tableveil.local_recoding.labels import FORBIDDEN, CombinationLabels, renumbered, sets_of
from tableveil.local_recoding.problem import SUPPRESSED


def merge_same(labels: CombinationLabels, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Classes with the same labels become one: readers could not tell them apart."""
    rows = np.flatnonzero(classes != SUPPRESSED)
    order, starts = sets_of(classes[rows])
    rows = rows[order]
    sets = labels.of_sets(rows, starts)
    keys = [column.groups[sets.levels[:, j], sets.values[:, j]] for j, column in enumerate(labels.columns)]
    number = np.unique(np.column_stack([sets.levels, *keys]), axis=0, return_inverse=True)[1]
    merged = np.full(len(classes), SUPPRESSED)
    merged[rows] = np.repeat(number, np.diff(starts, append=len(rows)))
    return merged


def merge_until_valid(
    labels: CombinationLabels, counts: NDArray[np.int64], judge: Judge, classes: NDArray[np.int64], control: Control
) -> NDArray[np.int64]:
    """Merges every class that may not be released with the one that adds least to the score, until all may be.

    Combinations that even then are in no valid class, as no label allows it or no class is left, come out suppressed.
    """
    while True:
        control.raise_if_cancelled()
        classes = renumbered(merge_same(labels, classes))
        rows = np.flatnonzero(classes != SUPPRESSED)
        if not len(rows):
            return classes
        order, starts = sets_of(classes[rows])
        rows = rows[order]
        failing = np.flatnonzero(~judge.releasable(rows, starts))
        if not len(failing):
            return classes
        sizes = np.add.reduceat(counts[rows], starts)
        values = labels.values[rows]
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        costs = labels.between(low, high).costs
        left = np.ones(len(starts), np.bool_)
        for number in failing[np.argsort(sizes[failing], kind="stable")]:
            if not left[number]:
                continue
            left[number] = False
            together = labels.between(np.minimum(low, low[number]), np.maximum(high, high[number])).costs
            change = (sizes + sizes[number]) * together - sizes * costs
            change[~left | (together >= FORBIDDEN)] = np.inf
            nearest = int(change.argmin())
            left[nearest] = False
            classes[classes == number] = nearest if np.isfinite(change[nearest]) else SUPPRESSED
            if not np.isfinite(change[nearest]):
                left[nearest] = True
