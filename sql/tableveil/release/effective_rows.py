"""The rows that the effective k is measured on: their classes, own values and values of columns as small numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    conjunction,
    number,
    render,
    row_hash,
    table,
)
from tableveil.counting.base import code_type, joined_code, joined_value, summed
from tableveil.dictionary import AggregatedDictionary
from tableveil.policy import AttributePolicy, Scale
from tableveil.release.aggregated import split
from tableveil.release.own_levels import label_at_own_level
from tableveil.release.plan import Members, ReleasedColumn, ReleasePlan
from tableveil.release.write import clustered_rows
from tableveil.verification.written import MEMBERS, OWN_LEVELS

ROWS = "effective_rows"
"""A row per record: `class`, own values `q<j>`, and numbers `v<i>` of the values of columns.

Records of a warehouse that are alike are one row, and `n` is their number. Where people have several records, `w` is
the number of the record's person.

The class is a number in random order, 0 for suppressed records.
"""

MOST_CODED = 4096
"""Up to so many values of a column are numbered: hashes are grouped in several times the time."""

_KEPT = "effective_kept"


@dataclass(frozen=True, slots=True)
class CountedColumn:
    """A measured column in `ROWS`: its values are numbered in the table `codes`, or are hashes if there is none."""

    name: str
    codes: str | None

    def every(self, share: int) -> str:
        """The condition for one of `share` values `v`, chosen by their hashes."""
        if self.codes is None:
            return f"v % {share} = 0"
        return f"v IN (SELECT code FROM {self.codes} WHERE hashed % {share} = 0)"


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The measured columns of `ROWS`, in order, and the aggregate that counts its records."""

    columns: tuple[CountedColumn, ...]
    records: str


def stage_rows(
    rows: WarehouseSession, plan: ReleasePlan, measured: Sequence[AttributePolicy], wanted: Sequence[int]
) -> CountedRows:
    """Makes the table `ROWS` with the own values of the `wanted` of the plan's quasi-identifiers."""
    session, hashed = rows.embedded, tuple(CountedColumn(f"v{i}", None) for i, _ in enumerate(measured))
    quasi_identifiers = plan.quasi_identifiers()
    if plan.aggregated is not None and plan.aggregated.members is not None:
        query, columns = _clustered(session, plan, plan.aggregated.members, measured, wanted), hashed
    else:
        query = _labelled(rows, plan, wanted)
        columns = _numbered(session, plan, measured) if session is rows else hashed
        for found, attribute in zip(columns, measured, strict=True):
            value: exp.Expr = row_hash(column(attribute.column, "source"))
            if found.codes is not None:
                same = exp.EQ(this=value, expression=column("hashed", found.codes))
                query = query.join(table(found.codes), on=same, join_type="LEFT")
                value = column("code", found.codes)
            query = query.select(alias(value, found.name))
        if plan.people is not None:
            query, person = joined_value(query, plan.people, "source", "owners")
            query = query.select(alias(person, "w"))
    records = _stage(
        rows, query, "UBIGINT" if plan.own_levels is not None or plan.aggregated is not None else "INTEGER"
    )
    session.execute(f"DROP TABLE IF EXISTS temp.main.{_KEPT}")
    for j in wanted:
        aggregated = quasi_identifiers[j].aggregated
        if aggregated is not None and ordered(quasi_identifiers[j]):
            _place(session, j, aggregated)
    return CountedRows(columns, records)


def drop_rows(session: Session, counted: CountedRows) -> None:
    """Drops all tables of `stage_rows`."""
    for made in (ROWS, *(found.codes for found in counted.columns if found.codes is not None)):
        session.execute(f"DROP TABLE temp.main.{made}")


def ordered(released: ReleasedColumn) -> bool:
    """Whether its values are aggregated and have places on a scale."""
    return released.aggregated is not None and released.aggregated.values.aggregation.scale is not Scale.NOMINAL


def _stage(rows: WarehouseSession, query: exp.Select, class_type: str) -> str:
    """Stages the rows of the query, and returns the aggregate that counts their records."""
    session, names, records = rows.embedded, [named.alias for named in query.expressions], "count(*)"
    found: exp.Expr = query.subquery("rows")
    if session is not rows:
        columns = [column(name) for name in names]
        counted = exp.select(*columns, alias(exp.Count(this=exp.Star()), "n")).from_(found)
        counted = counted.group_by(*(each.copy() for each in columns))
        names, found, records = [*names, "n"], collected(rows, "effective_collected", counted), "sum(n)::BIGINT"
    # Suppressed records are one more class. Only here: no type of Spark's has all hashes of DuckDB's.
    class_ = cast(exp.Coalesce(this=column("class"), expressions=[number(0)]), class_type)
    session.stage(
        ROWS, exp.select(alias(class_, "class"), *(column(name) for name in names if name != "class")).from_(found)
    )
    return records


def _numbered(session: Session, plan: ReleasePlan, measured: Sequence[AttributePolicy]) -> tuple[CountedColumn, ...]:
    """The measured columns; the values of those with few are numbered."""
    rows = plan.source.table("source")
    hashes = [row_hash(column(attribute.column, "source")) for attribute in measured]
    numbers = session.row(exp.select(*(exp.ApproxDistinct(this=value.copy()) for value in hashes)).from_(rows))
    counted = []
    for i, (value, values) in enumerate(zip(hashes, numbers, strict=True)):
        codes = f"effective_codes_{i}" if values <= MOST_CODED else None
        if codes is not None:
            distinct = render(exp.select(alias(value, "hashed")).distinct().from_(rows.copy()))
            known = session.stage("effective_hashes", distinct)
            session.stage(
                codes,
                f"SELECT hashed, (row_number() OVER (ORDER BY hashed) - 1)::{code_type(known)} AS code "
                "FROM effective_hashes",
            )
            session.execute("DROP TABLE temp.main.effective_hashes")
        counted.append(CountedColumn(f"v{i}", codes))
    return tuple(counted)


def _labelled(session: WarehouseSession, plan: ReleasePlan, wanted: Sequence[int]) -> exp.Select:
    """The rows with their class and own values."""
    query = exp.select().from_(plan.source.table("source"))
    own, labels = {}, []
    layout = plan.classes.layout
    words: list[list[exp.Expr]] = [[cast(number(0), "BIGINT")] for _ in range(layout.words)]
    for j, dictionary in enumerate(plan.dictionaries):
        query, own[dictionary.column.name] = joined_code(query, dictionary, "source", f"d{j}", 0)
        groups = {
            level: joined_code(exp.select(), dictionary, "source", f"d{j}", level)[1]
            for level in {*plan.levels_of(j), plan.classes.at[j]}
        }
        part = exp.Mul(this=cast(groups[plan.classes.at[j]], "BIGINT"), expression=number(layout.stride[j]))
        words[layout.word[j]].append(part)
        if plan.own_levels is not None:
            # Each level reads its group numbers from another column.
            labels += [column(f"l{j}", OWN_LEVELS), label_at_own_level(groups, j)]
    if plan.earlier is not None:
        # Rows are told apart by their earlier classes, too.
        attribute = len(plan.dictionaries)
        query, combination = plan.earlier.joined(query, "source", "earlier")
        words[layout.word[attribute]].append(
            exp.Mul(this=cast(combination, "BIGINT"), expression=number(layout.stride[attribute]))
        )
    for j, aggregated in enumerate(plan.aggregated_columns):
        query, own[aggregated.column.name] = joined_value(query, aggregated, "source", f"a{j}")
    if plan.own_levels is not None:
        same = (
            exp.EQ(this=column(f"c{j}", OWN_LEVELS), expression=own[d.column.name].copy())
            for j, d in enumerate(plan.dictionaries)
        )
        query = query.join(table(OWN_LEVELS), on=conjunction(same), join_type="LEFT")
        kept, class_ = column("l0", OWN_LEVELS), row_hash(*labels)
    else:
        _stage_kept(session.embedded, plan)
        session.lend(_KEPT)
        same = (exp.EQ(this=column(f"w{w}", _KEPT), expression=summed(word)) for w, word in enumerate(words))
        query = query.join(table(_KEPT), on=conjunction(same), join_type="LEFT")
        kept, class_ = column("w0", _KEPT), column("class", _KEPT)
    withheld = [column(d.column.name, "source").is_(exp.null()) for d in plan.dictionaries if d.withholds]
    released = conjunction([kept.is_(exp.null()).not_(), *(exp.Not(this=condition) for condition in withheld)])
    return query.select(alias(exp.Case(ifs=[exp.If(this=released, true=class_)]), "class"), *_own(plan, own, wanted))


def _stage_kept(session: Session, plan: ReleasePlan) -> None:
    """The keys of the released classes with their numbers, from 1, in the order of hashes of their labels."""
    keys = {f"w{w}": pa.array(found[plan.kept]) for w, found in enumerate(plan.classes.words)}
    attributes = range(len(plan.classes.at))
    labels = {f"l{j}": pa.array(plan.classes.groups(j)[plan.kept].astype(np.int32)) for j in attributes}
    order = f"hash({', '.join(labels)}), {', '.join(keys)}" if labels else ", ".join(keys)
    with session.relation("keys", pa.table(keys | labels)):
        session.stage(
            _KEPT, f"SELECT {', '.join(keys)}, (row_number() OVER (ORDER BY {order}))::INTEGER AS class FROM keys"
        )


def _own(plan: ReleasePlan, own: Mapping[str, exp.Expr], wanted: Sequence[int]) -> Iterator[exp.Expr]:
    """The own values."""
    quasi_identifiers = plan.quasi_identifiers()
    for j in wanted:
        released = quasi_identifiers[j]
        type_ = "DOUBLE" if ordered(released) else "INTEGER"
        if released.dictionary is not None:
            # The table of rows spills: wide codes would be most of it.
            type_ = code_type(len(released.dictionary.levels.groups[0]))
        yield alias(cast(own[released.name].copy(), type_), f"q{j}")


def _clustered(
    session: Session, plan: ReleasePlan, members: Members, measured: Sequence[AttributePolicy], wanted: Sequence[int]
) -> exp.Select:
    query, positions = clustered_rows(plan, members, split(session))
    own = {found.column.name: column(f"c{i}", "rows") for i, found in enumerate(plan.aggregated_columns)}
    values = [row_hash(column(f"v{positions[a.column]}", "rows")) for a in measured]
    if plan.people is not None:
        last = len(plan.aggregated_columns) + len(members.by) - 1
        query = query.select(alias(column(f"c{last}", "rows"), "w"))
    return query.select(
        alias(row_hash(column("class", MEMBERS)), "class"),
        *_own(plan, own, wanted),
        *(alias(value, f"v{i}") for i, value in enumerate(values)),
    )


def _place(session: Session, j: int, aggregated: AggregatedDictionary) -> None:
    """Codes of ordered values are replaced by their positions, which give a class its width."""
    positions = aggregated.values.positions
    codes = pa.table({"code": pa.array(range(len(positions))), "position": pa.array(positions)})
    with session.relation("positions", codes):
        session.execute(f"UPDATE temp.main.{ROWS} SET q{j} = position FROM positions WHERE q{j} = code")
