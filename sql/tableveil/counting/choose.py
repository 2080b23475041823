"""Chooses who counts for a search: numpy when the distinct combinations are few, the database when they are many."""

from __future__ import annotations

import numpy as np

from tableveil.backend import Session, column
from tableveil.classes import ClassCounter, NumpyCounter
from tableveil.counting.base import BaseHistogram
from tableveil.counting.duckdb_counter import DuckDBCounter
from tableveil.lattice import Transformation

FEW = 250_000
"""Up to so many combinations, all counting is done in numpy, and from the base.

That tells the small classes by their finest groups. It makes bounds of entropy sharper: on adult, fars and mach2019
they take 1 to 18 % fewer checks than by their own groups. Loss, ambiguity and precision do not gain.
"""


def open_counter(session: Session, base: BaseHistogram, bottom: Transformation | None = None) -> ClassCounter:
    """The counter for transformations from `bottom` on, or for all."""
    if base.combinations > FEW:
        return DuckDBCounter(session, base, bottom=bottom)
    names = [f"c{j}" for j in range(len(base.dictionaries))]
    found = session.arrays(base.searchable().select(*(column(name) for name in names), column("n")))
    levels = [dictionary.levels for dictionary in base.dictionaries]
    return NumpyCounter(levels, [found[name] for name in names], found["n"].astype(np.int64), base.withheld)
