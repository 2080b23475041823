"""The rates of values among the records of a label that moved most between the source and the release.

A reader of a release takes the share of a label's rows that have a value for a rate. It moves where suppression or a
local recoding takes some records out of a label and leaves others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, in_one_spelling, table
from tableveil.dictionary import Dictionary, value_texts
from tableveil.hierarchy import ValueKind
from tableveil.usefulness import MovedRate
from tableveil.utility.compared import Compared, Sides

MOST_MOVED = 5
"""So many rates are told."""

LEAST_PEOPLE = 30
"""The rate of a label is compared that so many people have, on both sides."""

_LABELS, _BEFORE, _AFTER, _SIZES = (f"rates_{name}" for name in ("labels", "before", "after", "sizes"))


@dataclass(frozen=True, slots=True)
class Labelled:
    """A generalized column of the release: its dictionary of the source's values, and the levels of its labels."""

    dictionary: Dictionary
    levels: Sequence[int]


def moved_rates(
    session: Session, sides: Sides, labelled: Sequence[Labelled], values: Sequence[Compared], person: str
) -> tuple[MovedRate, ...]:
    """The rates that moved most, those first; a label that all of the source's records have says nothing.

    `person` is the column of people, if there is one: at least so many of them have a label as its records show.
    """
    if not labelled or not values:
        return ()
    texts = [_stage_labels(session, j, one) for j, one in enumerate(labelled)]
    _stage(session, sides, labelled, values, person)
    rates = [rate for j, i in product(range(len(labelled)), range(len(values))) for rate in _of_pair(session, j, i)]
    for made in (_LABELS, _BEFORE, _AFTER, _SIZES):
        session.execute(f"DROP TABLE temp.main.{made}")
    rates.sort(key=lambda rate: rate[:2], reverse=True)
    return tuple(
        MovedRate(labelled[j].dictionary.column.name, texts[j][label], values[i].name, *rate)
        for _, _, j, i, label, *rate in rates[:MOST_MOVED]
    )


def _stage_labels(session: Session, j: int, of: Labelled) -> list[str | None]:
    """Adds the labels of a column, by number, to those of others; a label of several levels has the values of all."""
    numbers: dict[str | None, int] = {}
    pairs = set[tuple[int, int]]()
    for level in of.levels:
        levels = of.dictionary.levels
        names = levels.labels[level - 1] if level else value_texts(session, [of.dictionary])[0]
        groups = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
        pairs.update(enumerate(groups[levels.groups[level]].tolist()))
    codes, labels = zip(*sorted(pairs), strict=True)
    texts = list(numbers)
    with session.relation("rates_read", pa.table({"code": pa.array(codes), "label": pa.array(labels)})):
        rows = f"SELECT {j} AS j, code, label FROM rates_read"
        session.execute(f"CREATE TEMPORARY TABLE {_LABELS} AS {rows}" if not j else f"INSERT INTO {_LABELS} {rows}")
    named = pa.table({"label": pa.array(range(len(texts))), "text": pa.array(texts, pa.string())})
    session.keep(_texts(j), named)
    return texts


def _texts(j: int) -> str:
    return f"rates_texts_{j}"


def _stage(
    session: Session, sides: Sides, labelled: Sequence[Labelled], values: Sequence[Compared], person: str
) -> None:
    """Puts both sides into tables: `q<j>` are codes before and labels after, `v<i>` values as texts, `w` people.

    The table of sizes has the labels that enough people have.
    """
    before, after = exp.select().from_(sides.source.table("source")), exp.select().from_(sides.after())
    for j, one in enumerate(labelled):
        name = one.dictionary.column.name
        value, text = column(name, "source"), _text(name, one.dictionary.column.kind, "rows")
        before = _joined(before, one.dictionary.table_name, f"d{j}", value, "value")
        before = before.select(alias(column("code", f"d{j}"), f"q{j}"))
        after = _joined(after, _texts(j), f"t{j}", text, "text").select(alias(column("label", f"t{j}"), f"q{j}"))
    for i, of in enumerate(values):
        before = before.select(alias(_text(of.name, of.kind, "source"), f"v{i}"))
        after = after.select(alias(_text(of.name, of.kind, "rows"), f"v{i}"))
    if person:
        before = before.select(alias(column(person, "source"), "w"))
    records = session.stage(_BEFORE, before)
    session.stage(_AFTER, after)
    for j, _ in enumerate(labelled):
        session.execute(f"DROP TABLE temp.main.{_texts(j)}")
    sizes = " UNION ALL ".join(_sizes(j, person) for j, _ in enumerate(labelled))
    session.stage(
        _SIZES, f"SELECT j, label, before, after FROM ({sizes}) WHERE before < {records} AND people >= {LEAST_PEOPLE}"
    )


def _joined(query: exp.Select, named: str, as_: str, value: exp.Expr, key: str) -> exp.Select:
    same = exp.NullSafeEQ(this=value, expression=column(key, as_))
    return query.join(table(named, alias=as_), on=same, join_type="LEFT")


def _text(name: str, kind: ValueKind, of: str) -> exp.Expr:
    value: exp.Expr = column(name, of)
    return cast(in_one_spelling(value) if kind is ValueKind.FLOAT else value, "VARCHAR")


def _sizes(j: int, person: str) -> str:
    """The records of each label before and after, and the least number of people who they may be of on both sides.

    A record that is gone takes away one person at most; and so many records are of at least as many people as have the
    most each.
    """
    whose, people = (", w", "count(w)") if person else ("", "sum(n)")
    most = "max(n)" if person else "1"
    return (
        f"SELECT {j} AS j, label, before, after, "
        "least(people, greatest(people - (before - after), ceil(after / most)))::BIGINT AS people FROM ("
        f"SELECT label, sum(n)::BIGINT AS before, {people}::BIGINT AS people, {most} AS most FROM ("
        f"SELECT label{whose}, count(*) AS n FROM {_BEFORE} JOIN {_LABELS} ON j = {j} AND code = q{j} "
        "GROUP BY ALL) GROUP BY label) "
        f"JOIN (SELECT q{j} AS label, count(*) AS after FROM {_AFTER} GROUP BY ALL) USING (label)"
    )


def _of_pair(session: Session, j: int, i: int) -> list[tuple[Any, ...]]:
    """The rates of a column's values among the labels of one that moved most: first how far, then those they are of."""
    return session.rows(
        f"""
        WITH b AS (
            SELECT label, v{i} AS value, sum(n)::BIGINT AS n
            FROM (SELECT q{j} AS code, v{i}, count(*) AS n FROM {_BEFORE} GROUP BY ALL)
            JOIN (SELECT code, label FROM {_LABELS} WHERE j = {j}) USING (code) GROUP BY ALL
        ), a AS (SELECT q{j} AS label, v{i} AS value, count(*) AS n FROM {_AFTER} GROUP BY ALL),
        having_it AS (
            SELECT label, value, coalesce(max(n) FILTER (side = 0), 0) AS b, coalesce(max(n) FILTER (side = 1), 0) AS a
            FROM (SELECT 0 AS side, * FROM b UNION ALL SELECT 1, * FROM a) GROUP BY label, value
        )
        SELECT round(abs(h.b / before - h.a / after), 12) AS moved, least(before, after) AS size, {j}, {i}, label,
            value, before, h.b, after, h.a
        FROM having_it AS h JOIN (SELECT * FROM {_SIZES} WHERE j = {j}) USING (label)
        WHERE moved > 0 ORDER BY moved DESC, size DESC, h.b, value LIMIT {MOST_MOVED}
        """
    )
