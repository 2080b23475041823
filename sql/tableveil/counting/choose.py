"""Chooses who counts for a search: numpy when the distinct combinations are few, the database when they are many."""

from __future__ import annotations

import numpy as np

from tableveil.backend import Session, column
from tableveil.classes import ClassCounter, NumpyCounter
from tableveil.counting.base import BaseHistogram
from tableveil.counting.duckdb_counter import HAND_OVER_ROWS, DuckDBCounter
from tableveil.lattice import Transformation


def open_counter(session: Session, base: BaseHistogram, bottom: Transformation | None = None) -> ClassCounter:
    """The counter for transformations from `bottom` on, or for all."""
    if base.combinations > HAND_OVER_ROWS:
        return DuckDBCounter(session, base, bottom=bottom)
    names = [f"c{j}" for j in range(len(base.dictionaries))]
    found = session.arrays(base.searchable().select(*(column(name) for name in names), column("n")))
    levels = [dictionary.levels for dictionary in base.dictionaries]
    return NumpyCounter(levels, [found[name] for name in names], found["n"].astype(np.int64), base.withheld)
