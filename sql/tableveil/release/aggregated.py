"""Rows with aggregated quasi-identifiers: the members of each class, and the aggregates of their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.aggregation.aggregates import Aggregates, CommonLabels, Numbers, Ranges
from tableveil.aggregation.aggregates import Members as MemberCodes
from tableveil.backend import Session, alias, cast, column, conjunction, number, table, text
from tableveil.counting.base import joined_value
from tableveil.dictionary import AggregatedDictionary, PeopleDictionary, SensitiveDictionary
from tableveil.hierarchy import ValueKind
from tableveil.release.interval_labels import interval_labels
from tableveil.release.plan import Aggregated, Members, ReleasePlan
from tableveil.verification.written import AGGREGATES, MEMBERS

_STEPS = {"TIMESTAMP_S": 1, "TIMESTAMP_MS": 10**3}
"""Steps per second, for types with other than a million."""


def stage_aggregates(session: Session, plan: ReleasePlan, aggregated: Aggregated) -> None:
    """Makes the tables of the released classes' aggregates and, if there are clusters, of their members."""
    kept = plan.kept
    if aggregated.members is None:
        keys = {f"w{word}": pa.array(found[kept]) for word, found in enumerate(plan.classes.words)}
    else:
        keys = {"class": pa.array(np.flatnonzero(kept))}
        _stage_members(session, aggregated.members)
    query = exp.select(*(column(name, "staged") for name in keys)).from_(table("staged"))
    columns = dict(keys)
    for j, (dictionary, aggregates) in enumerate(zip(aggregated.dictionaries, aggregated.aggregates, strict=True)):
        columns[f"a{j}"] = _aggregates(session, dictionary, aggregates, kept)
        replacing: exp.Expr = column(f"a{j}", "staged")
        if isinstance(aggregates, MemberCodes):
            same = exp.EQ(this=replacing, expression=column("code", f"d{j}"))
            query = query.join(table(dictionary.table_name, alias=f"d{j}"), on=same)
            replacing = _coded(dictionary, column("value", f"d{j}"))
        query = query.select(alias(cast(replacing, dictionary.released_type), f"a{j}"))
    with session.relation("staged", pa.table(columns)):
        session.stage(AGGREGATES, query)


def alike(session: Session, plan: ReleasePlan, aggregated: Aggregated) -> NDArray[np.intp]:
    """Per cluster of a plan the number, from 0, of the class that it forms with all whose released values are equal."""
    stage_aggregates(session, plan, replace(aggregated, members=None))
    same = exp.Window(
        this=exp.DenseRank(),
        order=exp.Order(expressions=[exp.Ordered(this=column(f"a{j}")) for j in range(len(aggregated.aggregates))]),
    )
    found = session.arrays(exp.select(alias(same, "place")).from_(table(AGGREGATES)).order_by(column("w0")))
    session.forget(AGGREGATES)
    return found["place"].astype(np.intp) - 1


def aggregated_label(attribute: int) -> exp.Expr:
    """The aggregate that replaces the values of a column, for rows that are joined to their class's aggregates."""
    return column(f"a{attribute}", AGGREGATES)


# --- aggregates -----------------------------------------------------------------------------------------------------


def _aggregates(
    session: Session, dictionary: AggregatedDictionary, aggregates: Aggregates, kept: NDArray[np.bool_]
) -> pa.Array:
    """Per released class its aggregate, in a type that the database casts to the released one; for `MODE` codes."""
    match aggregates:
        case Numbers(values):
            return _numbers(dictionary, values[kept])
        case MemberCodes(codes):
            return pa.array(codes[kept])
        case Ranges(low, high):
            grid = dictionary.values.aggregation.grid
            assert grid is not None, "ends of intervals are rounded"
            return interval_labels(dictionary.column.kind, grid, low[kept], high[kept])
        case CommonLabels(levels, groups):
            return _common_labels(session, dictionary, levels[kept], groups[kept])


def _numbers(dictionary: AggregatedDictionary, values: NDArray[np.float64]) -> pa.Array:
    """Averages of dates and timestamps are rounded to the nearest value of their type, halves to the even one."""
    match dictionary.column.kind:
        case ValueKind.DATE:
            return pa.array(np.rint(values).astype(np.int32)).cast(pa.date32())
        case ValueKind.TIMESTAMP:
            steps = _STEPS.get(dictionary.column.type, 10**6)
            microseconds = np.rint(values * steps).astype(np.int64) * (10**6 // steps)
            return pa.array(microseconds).cast(pa.timestamp("us"))
        case _:
            # A zero has no sign: equal values must not look different.
            return pa.array(values + 0.0)


def _coded(dictionary: AggregatedDictionary, value: exp.Expr) -> exp.Expr:
    """The value of a member, or the bound of the coding that it lies beyond."""
    aggregation, type_ = dictionary.values.aggregation, dictionary.column.type
    beyond = []
    for coding, comparison in ((aggregation.bottom_coding, exp.LT), (aggregation.top_coding, exp.GT)):
        if coding:
            bound = cast(text(coding), type_)
            beyond.append(exp.If(this=comparison(this=value.copy(), expression=bound), true=bound.copy()))
    return exp.Case(ifs=beyond, default=value) if beyond else value


def _common_labels(
    session: Session, dictionary: AggregatedDictionary, levels: NDArray[np.int32], groups: NDArray[np.int32]
) -> pa.Array:
    hierarchy = dictionary.values.levels
    assert hierarchy is not None, "nominal columns have a hierarchy"
    values = exp.select(cast(column("value"), "VARCHAR")).from_(table(dictionary.table_name)).order_by("code")
    labels = [tuple(text for (text,) in session.rows(values)), *hierarchy.labels]
    # Numbered through all levels, one after the other.
    starts = np.cumsum([0, *map(len, labels)])
    every = pa.array([label for of_level in labels for label in of_level], pa.string())
    return every.take(pa.array(starts[levels] + groups))


# --- members --------------------------------------------------------------------------------------------------------


def _stage_members(session: Session, members: Members) -> None:
    codes = (*members.codes, *members.sensitive)
    order = np.lexsort((members.classes, *reversed(codes)))
    sorted_codes = [of[order] for of in codes]
    counts = members.counts[order]
    last = np.cumsum(counts)
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([of[1:] != of[:-1] for of in sorted_codes], axis=0)
    # Each combination of codes numbers its records from the beginning.
    before = (last - counts)[new]
    last -= np.repeat(before, np.diff(np.append(np.flatnonzero(new), len(order))))
    columns = {f"c{i}": pa.array(of) for i, of in enumerate(sorted_codes)}
    columns |= {
        "first": pa.array(last - counts + 1),
        "last": pa.array(last),
        "class": pa.array(members.classes[order]),
    }
    with session.relation("staged", pa.table(columns)):
        query = exp.select("*").from_(table("staged"))
        session.stage(MEMBERS, query)


def split(session: Session) -> bool:
    """Whether any records with equal codes are in different classes."""
    several = exp.GT(this=column("first"), expression=number(1))
    found: bool = session.value(exp.select(exp.Exists(this=exp.select("1").from_(table(MEMBERS)).where(several))))
    return found


def member_rows(plan: ReleasePlan, members: Members, released: Sequence[exp.Expr], numbered: bool) -> exp.Select:
    """The rows of the source, joined to the aggregates of their classes; `released` are their own columns, by position.

    These are named `v0`, `v1`, … of the alias `rows`. If `numbered`, these columns order records with equal codes, and
    never their place in the source: records that are equal in all of them are equal in the release.
    """
    query = exp.select().from_(plan.source.table("source"))
    codes = []
    for i, dictionary in enumerate(_joined(plan, members)):
        query, code = joined_value(query, dictionary, "source", f"d{i}")
        codes.append(alias(code, f"c{i}"))
    own = [alias(value, f"v{i}") for i, value in enumerate(released)]
    rows = query.select(*codes, *own)
    same: list[exp.Expr] = [
        exp.EQ(this=column(f"c{i}", "rows"), expression=column(f"c{i}", MEMBERS)) for i in range(len(codes))
    ]
    if numbered:
        place = exp.Window(
            this=exp.RowNumber(),
            partition_by=[column(f"c{i}") for i in range(len(codes))],
            order=exp.Order(expressions=[exp.Ordered(this=column(f"v{i}")) for i in range(len(own))]) if own else None,
        )
        rows = exp.select("*", alias(place, "place")).from_(rows.subquery("unnumbered"))
        same.append(exp.GTE(this=column("place", "rows"), expression=column("first", MEMBERS)))
    of_class = exp.EQ(this=column("class", MEMBERS), expression=column("class", AGGREGATES))
    # Records are equal in many clusters, of which only the last that begins by then is compared.
    joined = exp.select().from_(rows.subquery("rows"))
    joined = joined.join(table(MEMBERS), on=conjunction(same), join_type="ASOF" if numbered else "")
    if numbered:
        joined = joined.where(exp.LTE(this=column("place", "rows"), expression=column("last", MEMBERS)))
    return joined.join(table(AGGREGATES), on=of_class)


def _joined(
    plan: ReleasePlan, members: Members
) -> Iterator[AggregatedDictionary | SensitiveDictionary | PeopleDictionary]:
    yield from plan.aggregated_columns
    yield from members.by
