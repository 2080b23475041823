"""Numbers the people of a source in which people have several records, and other units that count beside people.

Nobody needs to know who has which number.
"""

from dataclasses import dataclass

import numpy as np

from tableveil.backend import WarehouseSession, alias, collected, column, number, sql, table
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
    records = "SELECT $person AS value, count(*) AS n FROM $source GROUP BY 1"
    counted = sql(records, person=column(person), source=source.table())
    order = "ORDER BY value" if ordered else ""
    numbered = f"SELECT value, CAST(row_number() OVER ({order}) - 1 AS INTEGER) AS code, n FROM $records"
    table_name = "people"
    session.embedded.stage(table_name, sql(numbered, records=collected(session, "counted_people", counted)))
    session.lend(table_name)
    arrays = session.embedded.arrays(sql("SELECT n FROM people ORDER BY code"))
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
    counted = sql(
        "SELECT $names, count(*) AS n FROM $source GROUP BY $places",
        names=[alias(column(each), f"v{j}") for j, each in enumerate(names)],
        source=source.table(),
        places=[number(j + 1) for j, _ in enumerate(names)],
    )
    order = "v0, CASE WHEN v0 IS NULL THEN v1 END" if person else "v0"
    query = f"SELECT *, CAST(dense_rank() OVER (ORDER BY {order}) - 1 AS INTEGER) AS code FROM $counted"
    table_name = f"units_{number_}"
    session.embedded.stage(table_name, sql(query, counted=collected(session, "counted_units", counted)))
    totals = "SELECT code, CAST(sum(n) AS BIGINT) AS n, bool_and(v0 IS NULL) AS is_null FROM $units GROUP BY code"
    arrays = session.embedded.arrays(sql(f"{totals} ORDER BY code", units=table(table_name)))
    without = not person and len(arrays["n"]) and arrays["is_null"][-1]
    values = SensitiveColumn(
        "",
        arrays["n"].astype(np.int64),
        null_code=len(arrays["n"]) - 1 if without else None,
        protected=False,
        unit=name,
    )
    return UnitsDictionary(tuple(source.column(each) for each in names), table_name, values)
