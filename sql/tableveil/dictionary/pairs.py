"""Numbers the pairs of a person and a value that the person has: so that people are counted who have a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, collected, column, number, table
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
    names = [alias(column(source_column.name), f"v{j}") for j, source_column in enumerate(columns)]
    counted = exp.select(*names, alias(exp.Count(this=exp.Star()), "n")).from_(source.table())
    counted = counted.group_by(number(1), number(2))
    rows = "counted_pairs"
    coded = [column("code", "p"), column("shared", "s")]
    ranked = exp.Window(
        this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=code.copy()) for code in coded])
    )
    query = (
        exp.select(
            *(column(f"v{j}", rows) for j in range(len(columns))),
            alias(cast(exp.Sub(this=ranked, expression=number(1)), "INTEGER"), "code"),
            *(alias(code, name) for code, name in zip(coded, ("person", "value"), strict=True)),
            column("n", rows),
        )
        .from_(collected(session, rows, counted))
        .join(table(people.table_name, alias="p"), on=exp.EQ(this=column("v0", rows), expression=column("value", "p")))
        .join(
            table(sensitive.table_name, alias="v"),
            on=exp.NullSafeEQ(this=column("v1", rows), expression=column("value", "v")),
        )
        .join(table("shared_codes", alias="s"), on=exp.EQ(this=column("code", "v"), expression=column("code", "s")))
    )
    table_name = f"pairs_{number_}"
    shared = _shared(sensitive.values)
    shares = pa.table({"code": np.arange(len(shared)), "shared": shared})
    with session.embedded.relation("shared_codes", shares):
        session.embedded.stage(table_name, query)
    session.lend(table_name)
    total = alias(cast(exp.Sum(this=column("n")), "BIGINT"), "n")
    keys = [column(name) for name in ("code", "person", "value")]
    source_column = session.embedded.arrays(
        exp.select(*keys, total).from_(table(table_name)).group_by(*keys).order_by(column("code"))
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
