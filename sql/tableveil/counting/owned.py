"""Counts classes of columns' values by their records and people, in the database, for the analysis of risks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, column, in_one_spelling, number
from tableveil.hierarchy import ValueKind
from tableveil.risk import OwnedClasses
from tableveil.source import Analyzed, Column


def count_people(session: WarehouseSession, analyzed: Analyzed) -> tuple[int, int, int]:
    """The records, those without a person, and the different people."""
    person = column(_person(analyzed).name)
    wanted = (
        exp.Count(this=exp.Star()),
        exp.CountIf(this=person.is_(exp.null())),
        exp.Count(this=exp.Distinct(expressions=[person.copy()])),
    )
    records, without, people = session.row(exp.select(*wanted).from_(analyzed.source.table()))
    return records, without, people


def owned_classes(session: WarehouseSession, analyzed: Analyzed, columns: Sequence[Column]) -> OwnedClasses:
    """The classes by some of the analyzed columns, in which NULL is a value; every record has a person."""
    names = [f"q{j}" for j in range(len(columns))]
    values = [alias(_value(source_column), name) for source_column, name in zip(columns, names, strict=True)]
    owners = exp.select(*values, alias(exp.Count(this=exp.Star()), "n")).from_(analyzed.source.table())
    owners = owners.group_by(*(number(j + 1) for j in range(len(columns))), column(_person(analyzed).name))
    measured = {
        "size": exp.Sum(this=column("n")),
        "people": exp.Count(this=exp.Star()),
        "most": exp.Max(this=column("n")),
    }
    classes = exp.select(*(alias(cast(each, "BIGINT"), name) for name, each in measured.items()))
    classes = classes.from_(owners.subquery("owners")).group_by(*map(column, names))
    kinds = exp.select(*map(column, measured), alias(exp.Count(this=exp.Star()), "classes"))
    kinds = kinds.from_(classes.subquery("classes")).group_by(*map(column, measured))
    source_column = session.arrays(kinds)
    sizes, people, most, numbers = (source_column[name].astype(np.int64) for name in (*measured, "classes"))
    return OwnedClasses(sizes, people, most, numbers)


def _person(analyzed: Analyzed) -> Column:
    assert analyzed.person is not None, "the request names the person column"
    return analyzed.person


def _value(found: Column) -> exp.Expr:
    value = column(found.name)
    return in_one_spelling(value) if found.kind is ValueKind.FLOAT else value
