"""Numbers the people of a source in which people have several records: nobody needs to know who has which number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, collected, column, number, table
from tableveil.classes import SensitiveColumn
from tableveil.source import Column, Source


@dataclass(frozen=True, slots=True, eq=False)
class PeopleDictionary:
    """The dictionary of the person column.

    `table_name` is a temporary table: `value` (the column's type), `code` from 0 in no order, unless they are to be
    `ordered`, and `n`, the person's records in the whole source. It is neither shown nor stored.
    """

    column: Column
    table_name: str
    values: SensitiveColumn


def build_people(session: WarehouseSession, source: Source, person: str, *, ordered: bool = False) -> PeopleDictionary:
    """The dictionary of a column without NULLs; one statement numbers the people, however many there are.

    `ordered` numbers them by their values: the same rows get the same numbers, wherever an order decides.
    """
    records = exp.select(alias(column(person), "value"), alias(exp.Count(this=exp.Star()), "n"))
    place = exp.Window(this=exp.RowNumber())
    if ordered:
        place.set("order", exp.Order(expressions=[exp.Ordered(this=column("value"))]))
    code = exp.Sub(this=place, expression=number(1))
    numbered = exp.select(column("value"), alias(cast(code, "INTEGER"), "code"), column("n"))
    table_name = "people"
    records = records.from_(source.table()).group_by(number(1))
    session.embedded.stage(table_name, numbered.from_(collected(session, "counted_people", records)))
    session.lend(table_name)
    arrays = session.embedded.arrays(exp.select(column("n")).from_(table(table_name)).order_by(column("code")))
    values = SensitiveColumn("", arrays["n"].astype(np.int64), protected=False, people=True)
    return PeopleDictionary(source.column(person), table_name, values)
