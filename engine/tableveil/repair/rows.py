"""The rows of event tables as arrays: which of them a repair keeps, and which ones a cap leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.repair.facts import Ints


def capped(people: Ints, most: int, chance: np.random.Generator) -> NDArray[np.bool_]:
    """The rows that are left if everybody keeps at most so many, chosen by chance."""
    order = np.lexsort((chance.random(len(people)), people))
    left = np.zeros(len(people), np.bool_)
    left[order[_place(people[order]) < most]] = True
    return left


def kept_rows(fact_of: NDArray[np.intp], counts: Ints, kept: Ints, chance: np.random.Generator) -> NDArray[np.bool_]:
    """The rows that are kept, so many of each fact; where these are not all, they are chosen by chance."""
    chosen: NDArray[np.bool_] = (kept == counts)[fact_of]
    some = np.flatnonzero(((kept > 0) & (kept < counts))[fact_of])
    order = some[np.lexsort((chance.random(len(some)), fact_of[some]))]
    chosen[order] = _place(fact_of[order]) < kept[fact_of[order]]
    return chosen


def _place(of: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """The place of each entry in its run of equal ones, from 0."""
    starts = np.flatnonzero(np.concatenate([[True], of[1:] != of[:-1]]))
    if not len(of):
        return np.zeros(0, np.intp)
    return np.arange(len(of)) - np.repeat(starts, np.diff(np.append(starts, len(of))))
