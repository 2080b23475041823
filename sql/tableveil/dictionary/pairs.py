"""Numbers the pairs of a person and a value that the person has: so that people are counted who have a value."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tableveil.backend import WarehouseSession, collected, column, sql, table
from tableveil.classes import PersonValues, SensitiveColumn
from tableveil.dictionary.people import PeopleDictionary
from tableveil.dictionary.sensitive import SensitiveDictionary
from tableveil.source import Column, Source


@dataclass(frozen=True, slots=True, eq=False)
class PairsDictionary:
    """The pairs of the person column and a sensitive column.

    `table_name` is a temporary table: `v0` and `v1` (the columns' values), and the `code` of the pair from 0, which
    all spellings of a value share. It is neither shown nor stored.
    """

    columns: tuple[Column, Column]
    table_name: str
    values: SensitiveColumn


def build_pairs(
    session: WarehouseSession, source: Source, people: PeopleDictionary, sensitive: SensitiveDictionary, number_: int
) -> PairsDictionary:
    """The dictionary of the pairs in the source; `number_` distinguishes those of a job."""
    columns = (people.column, sensitive.column)
    counted = sql(
        "SELECT $person AS v0, $value AS v1, count(*) AS n FROM $source GROUP BY 1, 2",
        person=column(people.column.name),
        value=column(sensitive.column.name),
        source=source.table(),
    )
    query = sql(
        "SELECT c.v0, c.v1, "
        "CAST(dense_rank() OVER (ORDER BY p.code, s.shared) - 1 AS INTEGER) AS code, "
        "p.code AS person, s.shared AS value, c.n FROM $counted AS c JOIN $people AS p ON c.v0 = p.value "
        "JOIN $sensitive AS v ON c.v1 IS NOT DISTINCT FROM v.value JOIN shared_codes AS s ON v.code = s.code",
        counted=collected(session, "counted_pairs", counted),
        people=table(people.table_name),
        sensitive=table(sensitive.table_name),
    )
    table_name = f"pairs_{number_}"
    shared = _shared(sensitive.values)
    shares = pa.table({"code": np.arange(len(shared)), "shared": shared})
    with session.embedded.relation("shared_codes", shares):
        session.embedded.stage(table_name, query)
    session.lend(table_name)
    source_column = session.embedded.arrays(
        sql(
            "SELECT code, person, value, CAST(sum(n) AS BIGINT) AS n FROM $pairs GROUP BY code, person, value "
            "ORDER BY code",
            pairs=table(table_name),
        )
    )
    persons, held = (source_column[name].astype(np.int64) for name in ("person", "value"))
    owned = PersonValues(persons, held, sensitive.values.elements)
    values = SensitiveColumn(
        sensitive.attribute.column, source_column["n"].astype(np.int64), protected=False, owned=owned
    )
    return PairsDictionary(columns, table_name, values)


def pair_codes(
    pairs: PairsDictionary, sensitive: SensitiveDictionary, people: NDArray[np.int32], values: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The codes of pairs that occur in the source, by the codes of the person and of the value."""
    owned, shared = pairs.values.owned, _shared(sensitive.values)
    assert owned is not None, "pairs have owners"
    span = len(shared) + 1
    keys = owned.people * span + owned.values + 1
    return keys.searchsorted(people.astype(np.int64) * span + shared[values] + 1).astype(np.int32)


def _shared(values: SensitiveColumn) -> NDArray[np.int64]:
    """Per code of a value the code that its spellings share; -1 for NULL."""
    shared = np.arange(len(values.counts)) if values.spellings is None else values.spellings.copy()
    if values.null_code is not None:
        shared[values.null_code] = -1
    return shared
