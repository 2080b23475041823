"""Writes rows that are sorted while labels and other texts are small numbers: these are many times as wide."""

from collections.abc import Mapping, Sequence

import numpy as np
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    column,
    drop,
    in_order,
    left_join,
    listed,
    number,
    parameter,
    sql,
    table,
    united,
)
from tableveil.counting.base import summed
from tableveil.hierarchy import ValueKind
from tableveil.release.label_columns import RANK_TYPE
from tableveil.release.labels import stage_counted_labels
from tableveil.release.plan import ReleasePlan

BITS = 63
"""The bits of a BIGINT without a sign."""


def in_packed_order(rows: exp.Select, sizes: Sequence[int | None], shown: Sequence[exp.Expr]) -> exp.Select:
    """The rows sorted by their columns `c0`, `c1`, …, as `in_order` does.

    Column i has whole numbers from 0 to `sizes[i]`, without NULL. If its size is None, it may have any values, and is
    not packed.
    `shown` are the columns to show, made of those of `ordered_rows`.
    """
    words: list[list[tuple[int, int]]] = []
    order: list[exp.Expr] = []
    left = 0
    for i, size in enumerate(sizes):
        if size is None:
            order.append(column(f"c{i}"))
            left = 0
            continue
        bits = size.bit_length()
        if bits > left:
            order.append(column(f"w{len(words)}"))
            words.append([])
            left = BITS
        left -= bits
        words[-1].append((i, left))
    packed = exp.select(*(column(f"c{i}") for i, size in enumerate(sizes) if size is None))
    unpacked: dict[int, exp.Expr] = {}
    for w, parts in enumerate(words):
        packed.select(alias(summed([_moved(column(f"c{i}"), shift) for i, shift in parts]), f"w{w}"), copy=False)
        unpacked |= {i: _taken(column(f"w{w}"), sizes[i] or 0, shift) for i, shift in parts}
    ordered = in_order(packed.from_(rows.subquery("unpacked_rows", copy=False), copy=False), order)
    columns = [alias(unpacked.get(i, column(f"c{i}")), f"c{i}") for i, _ in enumerate(sizes)]
    all_columns = exp.select(*columns).from_(ordered.subquery("packed_rows", copy=False), copy=False)
    return exp.select(*shown).from_(all_columns.subquery("ordered_rows", copy=False), copy=False)


def _moved(found: exp.Expr, shift: int) -> exp.Expr:
    """The number at its place in the word."""
    return exp.Mul(this=cast(found, "BIGINT"), expression=cast(number(1 << shift), "BIGINT"))


def _taken(word: exp.Expr, size: int, shift: int) -> exp.Expr:
    """The number out of the word."""
    moved = exp.Paren(this=exp.BitwiseRightShift(this=word, expression=number(shift)))
    return exp.BitwiseAnd(this=moved, expression=number((1 << size.bit_length()) - 1))


MOST_LISTED = 1_000
"""The most groups or texts of a column: DuckDB makes a list anew for every 2048 rows."""

MOST_CHARACTERS = 64_000
"""The most characters of all texts of a column that is not generalized."""


def listable(plan: ReleasePlan) -> bool:
    """Whether every released record has the label of its group, and no column has many groups."""
    labelled = {columns.name for columns in plan.label_columns}
    radices = zip(plan.dictionaries, plan.classes.layout.radices, strict=False)
    return (
        bool(labelled)
        and not plan.marker
        and not plan.policy.release.class_id
        and plan.recoding.same_labels
        and not plan.aggregated_columns
        and all(radix <= MOST_LISTED for dictionary, radix in radices if dictionary.column.name in labelled)
    )


def write_listed_rows(
    session: WarehouseSession,
    plan: ReleasePlan,
    rows: exp.Select,
    groups: Mapping[int, exp.Expr],
    values: Mapping[str, exp.Expr],
    target: exp.Table,
) -> None:
    """Creates the table of the sorted rows, and stages their labels.

    `rows` are those released, without a select list; `groups` has the group of each quasi-identifier that has several,
    `values` the released columns as they are at level 0.
    """
    labelled = {columns.name: columns for columns in plan.label_columns}
    position = {dictionary.column.name: j for j, dictionary in enumerate(plan.dictionaries)}
    texts = _labels(session, plan, {name: position[name] for name in labelled}, values)
    counted = [_counted(plan, position[name], texts[name]) for name in labelled]
    ranked = dict(zip(labelled, stage_counted_labels(session, plan, counted), strict=True))
    bound: list[object] = []

    def entry(found: Sequence[object], type_: str, at: exp.Expr) -> exp.Expr:
        bound.append(list(found))
        return listed(cast(parameter(len(bound)), f"{type_}[]"), at)

    few = {} if session.traits.collects else _stage_texts(session.embedded, plan, values)
    wide: list[exp.Expr] = []
    sizes: list[int | None] = []
    for i, released in enumerate(plan.columns()):
        sorted_by = column(f"c{i}", "ordered_rows")
        if released.name in labelled:
            columns = labelled[released.name]
            placed = [label for label in ranked[released.name] if label.place is not None]
            # NULL has the last place; no record has a label that is not released.
            places, last = {label.label: label.place for label in placed}, len(placed) + 1
            group = exp.Add(this=groups.get(position[released.name], number(0)), expression=number(1))
            place = entry([places.get(label, last) for label in texts[released.name]], "USMALLINT", group)
            wide.append(
                alias(entry([*(label.label for label in placed), None], released.type, sorted_by), released.name)
            )
            if columns.bounds is not None:
                low, high = ([*(getattr(label, end) for label in placed), None] for end in ("low", "high"))
                wide.append(alias(entry(low, columns.bounds_type, sorted_by.copy()), columns.low))
                wide.append(alias(entry(high, columns.bounds_type, sorted_by.copy()), columns.high))
            rank = cast(sorted_by.copy(), RANK_TYPE)
            has_null = None in texts[released.name]
            wide.append(alias(exp.Nullif(this=rank, expression=number(last)) if has_null else rank, columns.rank))
            sizes.append(last)
        elif released.name in few:
            found = few[released.name]
            last = len(found) + 1
            same = exp.EQ(this=values[released.name], expression=column("value", _texts(i)))
            rows = left_join(rows, table(_texts(i)), same)
            place = exp.Coalesce(this=column("place", _texts(i)), expressions=[number(last)])
            wide.append(alias(entry([*found, None], released.type, sorted_by), released.name))
            sizes.append(last)
        else:
            place = values[released.name]
            wide.append(alias(sorted_by, released.name))
            sizes.append(None)
        rows = rows.select(alias(place, f"c{i}"), copy=False)
    if session.traits.collects:
        session.write(target, in_order(rows, [column(f"c{i}") for i, _ in enumerate(sizes)], wide), bound)
    else:
        session.write(target, in_packed_order(rows, sizes, wide), bound)
    for i, released in enumerate(plan.columns()):
        if released.name in few:
            session.embedded.execute(drop("TABLE", table(_texts(i))))


def _stage_texts(session: Session, plan: ReleasePlan, values: Mapping[str, exp.Expr]) -> dict[str, list[str]]:
    """The texts of each column that is not generalized and has few, sorted; a table has each `value` with its `place`.

    NULL is none of them.
    """
    others = {
        i: released
        for i, released in enumerate(plan.columns())
        if not released.recognizes and released.column.kind is ValueKind.TEXT and released.type == "VARCHAR"
    }
    if not others:
        return {}
    rows = plan.source.table("source")
    numbers = session.row(
        exp.select(*(exp.ApproxDistinct(this=values[c.name].copy()) for c in others.values())).from_(rows)
    )
    few: dict[str, list[str]] = {}
    for (i, released), different in zip(others.items(), numbers, strict=True):
        if different > MOST_LISTED:
            continue
        known = sql("SELECT DISTINCT $value AS value FROM $rows", value=values[released.name], rows=rows)
        placed = "SELECT value, row_number() OVER (ORDER BY value) AS place FROM $known WHERE NOT value IS NULL"
        session.stage(_texts(i), sql(placed, known=known.subquery("known")))
        texts = [text for (text,) in session.rows(sql(f"SELECT value FROM {_texts(i)} ORDER BY place"))]
        if len(texts) <= MOST_LISTED and sum(map(len, texts)) <= MOST_CHARACTERS:
            few[released.name] = texts
        else:
            session.execute(drop("TABLE", table(_texts(i))))
    return few


def _texts(i: int) -> str:
    """The table of the texts of a released column."""
    return f"listed_texts_{i}"


def _labels(
    session: WarehouseSession, plan: ReleasePlan, positions: Mapping[str, int], values: Mapping[str, exp.Expr]
) -> dict[str, list[str | None]]:
    """The label of each group of these quasi-identifiers, as it is released."""
    by_column: dict[str, list[str | None]] = {}
    as_they_are = []
    for name, j in positions.items():
        dictionary, level = plan.dictionaries[j], plan.transformation[j]
        by_column[name] = list(dictionary.levels.labels[level - 1]) if level else []
        if not level:
            # The column may have any name, also that of the code.
            code = f"{name}_code"
            coded = exp.select(alias(column("value"), name), alias(column("code"), code))
            coded = coded.from_(table(dictionary.table_name))
            query = exp.select(alias(number(j), "at"), alias(values[name], "label"), alias(column(code), "code"))
            as_they_are.append(query.from_(coded.subquery("source")))
    if as_they_are:
        names = {j: name for name, j in positions.items()}
        all_ = united(as_they_are).subquery("labels")
        for j, label, _ in session.embedded.rows(exp.select("*").from_(all_).order_by(column("at"), "code")):
            by_column[names[j]].append(label)
    return by_column


def _counted(plan: ReleasePlan, j: int, labels: Sequence[str | None]) -> list[tuple[str | None, int]]:
    """The released labels of a quasi-identifier with their numbers of records."""
    groups, records = plan.classes.groups(j)[plan.kept], plan.classes.counts[plan.kept]
    counts = np.bincount(groups, weights=records, minlength=len(labels)).astype(np.int64)
    return [(label, int(count)) for label, count in zip(labels, counts, strict=True) if count]
