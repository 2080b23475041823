"""The sensitive values of people and of their events as numbers: spellings of a value are one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, left_join, number, row_number, table, text
from tableveil.hierarchy import ValueKind
from tableveil.related.staging import PEOPLE, StagedEvents
from tableveil.source import Source
from tableveil.source.spelling import spelling

Ints = NDArray[np.int32]

_VALUES = "sensitive_values"


def values_of_people(session: Session, source: Source, key: str, name: str, named: Sequence[str]) -> tuple[Ints, Ints]:
    """The numbers of the people, and those of their values, in any order; -1 is no value, or none of those named."""
    same = exp.EQ(this=column(key, "source"), expression=column("value", "people"))
    rows = exp.select().from_(source.table("source")).join(table(PEOPLE, alias="people"), on=same)
    return _values(session, source, rows, name, named, column("p", "people"))


def values_of_events(session: Session, staged: StagedEvents, name: str, named: Sequence[str]) -> tuple[Ints, Ints]:
    """The places of staged rows, and the numbers of their values, likewise."""
    rows = exp.select().from_(staged.source.table("source"))
    return _values(session, staged.source, rows, name, named, column(staged.place, "source"))


def _values(
    session: Session, source: Source, rows: exp.Select, name: str, named: Sequence[str], of: exp.Expr
) -> tuple[Ints, Ints]:
    own = source.column(name)
    value = cast(spelling(column(name, "source"), own), "VARCHAR")
    distinct = rows.select(alias(value, "value")).distinct().where(column(name, "source").is_(exp.null()).not_())
    if named:
        is_text = own.kind is ValueKind.TEXT
        each = [spelling(text(one), own) if is_text else text(one) for one in named]
        distinct = (
            exp.select("value").from_(distinct.subquery("each")).where(exp.In(this=column("value"), expressions=each))
        )
    code = cast(exp.Sub(this=row_number([]), expression=number(1)), "INTEGER")
    session.collect(_VALUES, exp.select("value", alias(code, "code")).from_(distinct.subquery("found")))
    same = exp.EQ(this=value.copy(), expression=column("value", "known"))
    joined = left_join(rows.copy(), table(_VALUES, alias="known"), same)
    found = exp.Coalesce(this=column("code", "known"), expressions=[number(-1)])
    arrays = session.arrays(joined.select(alias(of, "n"), alias(found, "code")))
    return arrays["n"], arrays["code"]
