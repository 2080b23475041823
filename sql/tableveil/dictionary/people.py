"""Numbers the people of a source in which people have several records, and other units that count beside people.

Nobody needs to know who has which number.
"""

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


@dataclass(frozen=True, slots=True, eq=False)
class UnitsDictionary:
    """The dictionary of other units beside people, such as households.

    `table_name` is a temporary table: `v0` (the column's values), `v1` (the person column's, if people have several
    records), and the `code` of the unit from 0. It is neither shown nor stored.
    """

    columns: tuple[Column, ...]
    table_name: str
    values: SensitiveColumn


def build_units(session: WarehouseSession, source: Source, name: str, person: str, number_: int) -> UnitsDictionary:
    """The dictionary of a column whose values are units; `number_` distinguishes those of a job.

    `person` names the column of people who have several records, else it is empty. Without a value, the records of one
    person are a unit; if every record is another person, they have the last code, and each of them is a unit.
    """
    names = [name, person] if person else [name]
    counted = exp.select(*(alias(column(each), f"v{j}") for j, each in enumerate(names)))
    counted = counted.select(alias(exp.Count(this=exp.Star()), "n")).from_(source.table())
    counted = counted.group_by(*(number(j + 1) for j in range(len(names))))
    keys: list[exp.Expr] = [column("v0")]
    if person:
        keys.append(exp.Case(ifs=[exp.If(this=column("v0").is_(exp.null()), true=column("v1"))]))
    order = exp.Order(expressions=[exp.Ordered(this=key, nulls_first=False) for key in keys])
    code = exp.Sub(this=exp.Window(this=exp.DenseRank(), order=order), expression=number(1))
    query = exp.select("*", alias(cast(code, "INTEGER"), "code")).from_(collected(session, "counted_units", counted))
    table_name = f"units_{number_}"
    session.embedded.stage(table_name, query)
    total = alias(cast(exp.Sum(this=column("n")), "BIGINT"), "n")
    is_null = alias(exp.LogicalAnd(this=column("v0").is_(exp.null())), "is_null")
    read = exp.select("code", total, is_null).from_(table(table_name)).group_by("code").order_by("code")
    arrays = session.embedded.arrays(read)
    without = not person and len(arrays["n"]) and arrays["is_null"][-1]
    values = SensitiveColumn(
        "",
        arrays["n"].astype(np.int64),
        null_code=len(arrays["n"]) - 1 if without else None,
        protected=False,
        unit=name,
    )
    return UnitsDictionary(tuple(source.column(each) for each in names), table_name, values)
