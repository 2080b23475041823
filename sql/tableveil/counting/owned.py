"""Counts classes of columns' values by their records and people, in the database, for the analysis of risks."""

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column, in_one_spelling, number, sql
from tableveil.hierarchy import ValueKind
from tableveil.risk import OwnedClasses
from tableveil.source import Analyzed, Column


def count_people(session: WarehouseSession, analyzed: Analyzed) -> tuple[int, int, int]:
    """The records, those without a person, and the different people."""
    person = column(_person(analyzed).name)
    counts = "SELECT count(*), count_if($person IS NULL), count(DISTINCT $person) FROM $source"
    records, without, people = session.row(sql(counts, person=person, source=analyzed.source.table()))
    return records, without, people


def owned_classes(session: WarehouseSession, analyzed: Analyzed, columns: Sequence[Column]) -> OwnedClasses:
    """The classes by some of the analyzed columns, in which NULL is a value; every record has a person."""
    names = [f"q{j}" for j in range(len(columns))]
    values = [alias(_value(source_column), name) for source_column, name in zip(columns, names, strict=True)]
    source_column = session.arrays(
        sql(
            "SELECT size, people, most, count(*) AS classes FROM (SELECT CAST(sum(n) AS BIGINT) AS size, "
            "CAST(count(*) AS BIGINT) AS people, CAST(max(n) AS BIGINT) AS most FROM (SELECT $values, count(*) AS n "
            "FROM $source GROUP BY $places, $person) AS owners GROUP BY $names) AS classes GROUP BY size, people, most",
            values=values,
            source=analyzed.source.table(),
            places=[number(j + 1) for j, _ in enumerate(columns)],
            person=column(_person(analyzed).name),
            names=[column(name) for name in names],
        )
    )
    sizes, people, most, numbers = (
        source_column[name].astype(np.int64) for name in ("size", "people", "most", "classes")
    )
    return OwnedClasses(sizes, people, most, numbers)


def _person(analyzed: Analyzed) -> Column:
    assert analyzed.person is not None, "the request names the person column"
    return analyzed.person


def _value(found: Column) -> exp.Expr:
    value = column(found.name)
    return in_one_spelling(value) if found.kind is ValueKind.FLOAT else value
