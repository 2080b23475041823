"""The distinct combinations of values of source and population together, as arrays; and people missing in some."""

import numpy as np
from sqlglot import exp

from tableveil.backend import Session, alias, column, number, sql
from tableveil.counting.base import BaseHistogram
from tableveil.game.assignment import Combinations


def read_combinations(session: Session, base: BaseHistogram) -> Combinations:
    """All combinations that are not withheld, in the order of their codes."""
    codes = base.histogram.columns
    arrays = session.arrays(merged(base).order_by(*map(column, codes)))
    records = arrays["n"].astype(np.int64)
    people = records if base.population is None else arrays["population"].astype(np.int64)
    return Combinations(base.histogram.levels, tuple(arrays[name].astype(np.int32) for name in codes), records, people)


def merged(base: BaseHistogram) -> exp.Select:
    """The combinations and their records `n`; with a population, also those that only it has, and its `population`."""
    codes = [column(name) for name in base.histogram.columns]
    query = base.histogram.searchable().select(*codes, column("n"))
    if base.population is None:
        return query
    own = query.select(alias(number(0), "population"))
    of_population = base.population.searchable().select(*codes, alias(number(0), "n"), column("n"))
    both = exp.Union(this=own, expression=of_population, distinct=False).subquery("both_rows")
    totals = "CAST(sum(n) AS BIGINT) AS n, CAST(sum(population) AS BIGINT) AS population"
    return sql(f"SELECT $codes, {totals} FROM $both GROUP BY $codes", codes=codes, both=both)


def missing_people(session: Session, base: BaseHistogram) -> tuple[int, int]:
    """How many combinations have more records in the source than people in the population, and the excess in all."""
    query = sql(
        "SELECT count(*), CAST(coalesce(sum(n - population), 0) AS BIGINT) FROM $combinations WHERE n > population",
        combinations=merged(base).subquery("combinations"),
    )
    combinations, records = session.row(query)
    return combinations, records
