"""Stages the rows of people and of their events: people get numbers, orphans go, and dates become days."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, expression, is_finite, sql, table, united
from tableveil.counting.base import joined_code
from tableveil.dictionary import Dictionary
from tableveil.hierarchy import ValueKind
from tableveil.policy import Anchor, EventTable, RelativeTime, Role
from tableveil.source import Column, Source

Ints = NDArray[np.int32]

PEOPLE = "staged_people"
"""The temporary table of people: their key is the `value`, their number is `p`, and `anchor` is their own date."""

_ANCHORS = "staged_anchors"
_DATES = (ValueKind.DATE, ValueKind.TIMESTAMP)


@dataclass(frozen=True, slots=True, eq=False)
class StagedEvents:
    """The rows of an event table whose people are known, in a temporary table.

    `source` has them under their names, dates as days, after two columns of other names: the number of the row's
    `person`, and its own `place`, from 0. `rows` of the table were staged, and `orphans` not. `days` are the columns
    that were dates, the row's own day first.
    """

    event: EventTable
    source: Source
    person: str
    place: str
    rows: int
    orphans: int
    days: tuple[str, ...]


def stage_people(session: Session, source: Source, key: str, time: RelativeTime | None) -> int:
    """Numbers the people from 0 in no order, and returns how many there are; keys are unique and never NULL."""
    query = exp.select(alias(column(key, "source"), "value"), alias(_numbered(), "p"))
    if time is not None and time.anchor is Anchor.COLUMN:
        query = query.select(alias(cast(column(time.column, "source"), "DATE"), "anchor"))
    people: int = session.stage(PEOPLE, query.from_(source.table("source")))
    return people


def stage_events(
    session: Session, events: Sequence[EventTable], sources: Sequence[Source], time: RelativeTime | None
) -> list[StagedEvents]:
    """The staged rows of all event tables."""
    days = [days_of(event, source) if time is not None else () for event, source in zip(events, sources, strict=True)]
    if time is not None and time.anchor is not Anchor.COLUMN and any(days):
        _stage_anchors(session, events, sources, days, time.anchor)
    staged = []
    for i, (event, source, own) in enumerate(zip(events, sources, days, strict=True)):
        name = f"staged_rows_{i}"
        wanted = _released(event, source)
        person, place = _free([each.name for each in wanted], "person", "place")
        query = of_people(source, event.person)
        anchor: exp.Expr = column("anchor", "people")
        if own and time is not None and time.anchor is not Anchor.COLUMN:
            anchor = column("anchor", "anchors")
            same: exp.Expr = exp.EQ(this=column("p", "anchors"), expression=column("p", "people"))
            if time.anchor is Anchor.PREVIOUS_EVENT:
                on_day = exp.EQ(this=column("day", "anchors"), expression=_day(own[0]))
                same = exp.and_(same, on_day)
            query = query.join(table(_ANCHORS, alias="anchors"), on=same, join_type="LEFT")
        shown = [
            alias(_since(each.name, anchor) if each.name in own else column(each.name, "source"), each.name)
            for each in wanted
        ]
        added = [alias(column("p", "people"), person), alias(_numbered(), place)]
        rows = session.stage(name, query.select(*added, *shown))
        columns = (
            Column(person, "INTEGER", ValueKind.INTEGER),
            Column(place, "INTEGER", ValueKind.INTEGER),
            *(Column(each.name, "INTEGER", ValueKind.INTEGER) if each.name in own else each for each in wanted),
        )
        total = session.value(sql("SELECT count(*) FROM $rows", rows=source.table("source")))
        of_rows = replace(source, columns=columns, staged=name)
        staged.append(StagedEvents(event, of_rows, person, place, rows, total - rows, own))
    return staged


def codes_of_people(
    session: Session, source: Source, key: str, dictionaries: Sequence[Dictionary]
) -> tuple[Ints, list[Ints]]:
    """The numbers of the people, and per dictionary the codes of their values, in any order."""
    (numbers,), codes = _codes(session, of_people(source, key), dictionaries, column("p", "people"))
    return numbers, codes


def codes_of_events(
    session: Session, staged: StagedEvents, dictionaries: Sequence[Dictionary]
) -> tuple[Ints, Ints, list[Ints]]:
    """The staged rows' people and places, and per dictionary the codes of their values, in any order of the rows."""
    numbers = [column(name, "source") for name in (staged.person, staged.place)]
    rows = exp.select().from_(staged.source.table("source"))
    (people, places), codes = _codes(session, rows, dictionaries, *numbers)
    return people, places, codes


def _codes(
    session: Session, query: exp.Select, dictionaries: Sequence[Dictionary], *numbers: exp.Expr
) -> tuple[list[Ints], list[Ints]]:
    query = query.select(*(alias(number_, f"n{i}") for i, number_ in enumerate(numbers)))
    for j, dictionary in enumerate(dictionaries):
        query, code = joined_code(query, dictionary, "source", f"d{j}", 0)
        query = query.select(alias(cast(code, "INTEGER"), f"c{j}"))
    arrays = session.arrays(query)
    return [arrays[f"n{i}"] for i, _ in enumerate(numbers)], [arrays[f"c{j}"] for j, _ in enumerate(dictionaries)]


def of_people(source: Source, key: str) -> exp.Select:
    """The rows of people who are known, without a select list yet."""
    same = exp.EQ(this=column(key, "source"), expression=column("value", "people"))
    return exp.select().from_(source.table("source")).join(table(PEOPLE, alias="people"), on=same)


def _stage_anchors(
    session: Session,
    events: Sequence[EventTable],
    sources: Sequence[Source],
    days: Sequence[tuple[str, ...]],
    anchor: Anchor,
) -> None:
    """Per person the first day of all tables, or per person and day the day before it that has an event."""
    found = [
        of_people(source, event.person).select(alias(column("p", "people"), "p"), alias(_day(own[0]), "day"))
        for event, source, own in zip(events, sources, days, strict=True)
        if own
    ]
    known = united(found).subquery("days")
    query = "SELECT p, min(day) AS anchor FROM $known GROUP BY p"
    if anchor is Anchor.PREVIOUS_EVENT:
        distinct = "SELECT DISTINCT p, day FROM $known WHERE NOT day IS NULL"
        query = f"SELECT p, day, lag(day) OVER (PARTITION BY p ORDER BY day) AS anchor FROM ({distinct}) AS days"
    session.stage(_ANCHORS, sql(query, known=known))


def days_of(event: EventTable, source: Source) -> tuple[str, ...]:
    """The columns of dates, in the order of the policy: the first one is the day of a row."""
    kinds = {each.name: each.kind for each in source.columns}
    return tuple(a.column for a in event.quasi_identifiers if kinds[a.column] in _DATES)


def _day(name: str) -> exp.Expr:
    """The day of a date; infinite ones are none."""
    day = cast(column(name, "source"), "DATE")
    return expression("CASE WHEN $finite THEN $day END", finite=is_finite(day.copy()), day=day)


def _since(name: str, anchor: exp.Expr) -> exp.Expr:
    return cast(exp.Sub(this=_day(name), expression=anchor.copy()), "INTEGER")


def _released(event: EventTable, source: Source) -> list[Column]:
    leaving = {attribute.column for attribute in event.attributes if attribute.role is not Role.IDENTIFYING}
    return [each for each in source.columns if each.name in leaving]


def _numbered() -> exp.Expr:
    """The number of a row, from 0."""
    return expression("CAST(row_number() OVER () - 1 AS INTEGER)")


def _free(taken: Sequence[str], *names: str) -> list[str]:
    """The names, changed where a column has them."""
    others, free = {other.casefold() for other in taken}, []
    for name in names:
        while name in others:
            name += "_"
        free.append(name)
    return free
