"""Hands a base histogram over to numpy, with the values of sensitive columns and the population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Session, column
from tableveil.classes import NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.counting.base import BaseHistogram, Histogram
from tableveil.counting.combinations import merged, read_combinations
from tableveil.game import Combinations


@dataclass(frozen=True, slots=True, eq=False)
class CombinationRows:
    """The combinations that are not withheld, in the order of their codes, with the values of the columns counted."""

    combinations: Combinations
    sensitive: tuple[tuple[SensitiveColumn, SensitiveRows], ...]


def combination_rows(session: Session, base: BaseHistogram) -> CombinationRows:
    """All combinations as arrays."""
    combinations = read_combinations(session, base)
    of_source = np.flatnonzero(combinations.records)
    sensitive = tuple(
        (known, _sensitive_rows(session, histogram, of_source))
        for known, histogram in zip(base.counted, base.by_value, strict=True)
    )
    return CombinationRows(combinations, sensitive)


def in_memory(session: Session, base: BaseHistogram) -> NumpyCounter:
    """The counter over arrays of all rows that are not withheld."""
    names = base.histogram.columns
    rows = merged(base)
    # Rows of values are found by their order.
    found = session.arrays(rows.order_by(*map(column, names)) if base.by_value else rows)
    counts = found["n"].astype(np.int64)
    population = None if base.population is None else found["population"].astype(np.int64)
    of_source = np.flatnonzero(counts)
    return NumpyCounter(
        base.histogram.levels,
        [found[name] for name in names],
        counts,
        base.withheld,
        sensitive=[
            (known, _sensitive_rows(session, histogram, of_source))
            for known, histogram in zip(base.counted, base.by_value, strict=True)
        ],
        population=population,
        outside=0 if population is None else (base.population_records or 0) - int(population.sum()),
    )


def _sensitive_rows(session: Session, by_value: Histogram, of_source: NDArray[np.intp]) -> SensitiveRows:
    """The values of the rows, of which those in `of_source` have records of the source; all in the order of codes."""
    *codes, value = by_value.columns
    query = by_value.searchable().select(*map(column, by_value.columns), column("n"))
    found = session.arrays(query.order_by(*map(column, by_value.columns)))
    differs = np.zeros(len(found["n"]), np.bool_)
    for code in codes:
        differs[1:] |= found[code][1:] != found[code][:-1]
    return SensitiveRows(of_source[np.cumsum(differs)], found[value].astype(np.intp), found["n"].astype(np.int64))
