"""Hands a base histogram over to numpy, with the values of sensitive columns and the population."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, number
from tableveil.classes import NumpyCounter, SensitiveRows
from tableveil.counting.base import BaseHistogram, Histogram


def in_memory(session: Session, base: BaseHistogram) -> NumpyCounter:
    """The counter over arrays of all that is not withheld."""
    names = base.histogram.columns
    found = session.arrays(_rows(base))
    counts = found["n"].astype(np.int64)
    population = None if base.population is None else found["population"].astype(np.int64)
    of_source = np.flatnonzero(counts)
    return NumpyCounter(
        base.histogram.levels,
        [found[name] for name in names],
        counts,
        base.withheld,
        sensitive=[
            (dictionary.values, _sensitive_rows(session, histogram, of_source))
            for dictionary, histogram in zip(base.sensitive, base.by_value, strict=True)
        ],
        population=population,
        outside=0 if population is None else (base.population_records or 0) - int(population.sum()),
    )


def _rows(base: BaseHistogram) -> exp.Select:
    """The combinations and their records `n`; with a population, also those that only it has, and its records."""
    codes = [column(name) for name in base.histogram.columns]
    query = base.histogram.searchable().select(*codes, column("n"))
    if base.population is not None:
        own = query.select(alias(number(0), "population"))
        theirs = base.population.searchable().select(*codes, alias(number(0), "n"), column("n"))
        both = exp.Union(this=own, expression=theirs, distinct=False).subquery("both_rows")
        totals = [alias(cast(exp.Sum(this=column(name)), "BIGINT"), name) for name in ("n", "population")]
        query = exp.select(*codes, *totals).from_(both).group_by(*codes)
    # Rows of values are found by their order.
    return query.order_by(*codes) if base.by_value else query


def _sensitive_rows(session: Session, by_value: Histogram, of_source: NDArray[np.intp]) -> SensitiveRows:
    """The values of the rows, of which those in `of_source` have records of the source; all in the order of codes."""
    *codes, value = by_value.columns
    query = by_value.searchable().select(*map(column, by_value.columns), column("n"))
    found = session.arrays(query.order_by(*map(column, by_value.columns)))
    differs = np.zeros(len(found["n"]), np.bool_)
    for code in codes:
        differs[1:] |= found[code][1:] != found[code][:-1]
    return SensitiveRows(of_source[np.cumsum(differs)], found[value].astype(np.intp), found["n"].astype(np.int64))
