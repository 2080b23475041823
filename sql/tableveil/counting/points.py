"""Reads distinct combinations of values as arrays: points to cluster, and those of source and population together."""

import numpy as np
from sqlglot import exp

from tableveil.aggregation.coordinates import Points
from tableveil.backend import Session, alias, column, number, sql
from tableveil.classes import KeyLayout
from tableveil.counting.base import BaseHistogram, CountedColumns, counted_keys, joined_value
from tableveil.dictionary import AggregatedDictionary, PeopleDictionary, SensitiveDictionary, pair_codes
from tableveil.game.assignment import Combinations
from tableveil.source import Source


def read_points(session: Session, source: Source, columns: CountedColumns) -> Points:
    """The combinations in the order of their codes, whatever the order of the rows.

    `source` is without the records set aside; memory grows with the combinations. After the sensitive columns come
    people, if some have several records, and their pairs with the values of such columns.
    """
    aggregated, sensitive, people = [of for _, of in columns.aggregates], columns.sensitive, columns.people
    rows = exp.select().from_(source.table("source"))
    codes: list[exp.Expr] = []
    dictionaries: list[AggregatedDictionary | SensitiveDictionary | PeopleDictionary] = [*aggregated, *sensitive]
    dictionaries += [people] if people is not None else []
    for j, dictionary in enumerate(dictionaries):
        rows, code = joined_value(rows, dictionary, "source", f"d{j}")
        codes.append(code)
    layout = KeyLayout.of([len(dictionary.values.counts) for dictionary in dictionaries])
    words = [column(f"w{word}") for word in range(layout.words)]
    arrays = session.arrays(counted_keys(rows, codes, layout).order_by(*words))
    keys = tuple(arrays[f"w{word}"] for word in range(layout.words))
    read = tuple(layout.unpack(keys, j).astype(np.int32) for j in range(len(dictionaries)))
    values = {arrays.column.name: position for position, arrays in enumerate(sensitive, start=len(aggregated))}
    owned = []
    for of_column in columns.pairs:
        position = values[of_column.values.column]
        dictionary = sensitive[position - len(aggregated)]
        owned.append(pair_codes(of_column, dictionary, read[-1], read[position]))
    return Points(
        columns=tuple(dictionary.values for dictionary in aggregated),
        codes=read[: len(aggregated)],
        counts=arrays["n"].astype(np.int64),
        sensitive=(*read[len(aggregated) :], *owned),
        people=None if people is None else read[-1],
    )


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
