"""Reads the points to cluster: the distinct combinations of values of aggregated and sensitive columns, as arrays."""

import numpy as np
from sqlglot import exp

from tableveil.aggregation.points import Points
from tableveil.backend import Session, column
from tableveil.classes import KeyLayout
from tableveil.counting.base import CountedColumns, counted_keys, joined_value
from tableveil.dictionary import AggregatedDictionary, PeopleDictionary, SensitiveDictionary, pair_codes
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
