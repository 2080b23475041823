"""The released labels: their bounds and ranks, and the public table of all of them, from the released rows alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, collected, column, drop, number, render, table, text
from tableveil.hierarchy import Point, ValueKind, in_order, listed_labels, read_bounds
from tableveil.release.label_columns import LabelColumns
from tableveil.release.plan import ReleasePlan

COLUMNS = (
    ("column_name", "VARCHAR"),
    ("label", "VARCHAR"),
    ("rank", "INTEGER"),
    ("records", "BIGINT"),
    ("number_from", "DOUBLE"),
    ("number_to", "DOUBLE"),
    ("time_from", "TIMESTAMP"),
    ("time_to", "TIMESTAMP"),
    ("to_included", "BOOLEAN"),
)
"""The columns of the table of labels."""

_ALL = "all_labels"

_NUMBERS = (ValueKind.INTEGER, ValueKind.FLOAT)
_ARROW = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us")}


def stage_labels(session: WarehouseSession, plan: ReleasePlan, rows: str) -> None:
    """Makes the tables of released labels: `label`, `low`, `high`, `high_included`, `place` and `records`.

    `rows` is a temporary table of the released rows. NULL is a label without a place.
    """
    kept = exp.select().from_(table(rows))
    records: exp.Expr = exp.Count(this=exp.Star())
    if plan.marker:
        kept = kept.where(exp.Not(this=column(plan.marker)))
    if session.embedded is not session:
        # Rows that are computed again for each statement are counted once, by all labels together.
        labels = [column(columns.name) for columns in plan.label_columns]
        together = kept.select(*labels, alias(records, "n")).group_by(*(label.copy() for label in labels))
        kept = exp.select().from_(collected(session, "labels_together", together))
        records = cast(exp.Sum(this=column("n")), "BIGINT")
    counted = [
        session.embedded.rows(kept.select(column(c.name), records.copy()).group_by(column(c.name)))
        for c in plan.label_columns
    ]
    stage_counted_labels(session, plan, counted)


def stage_counted_labels(
    session: WarehouseSession, plan: ReleasePlan, counted: Sequence[Sequence[tuple[str | None, int]]]
) -> None:
    """Makes the tables as `stage_labels` does, from the labels of each column with their numbers of records."""
    for j, (columns, found) in enumerate(zip(plan.label_columns, counted, strict=True)):
        staged = _table(columns, {label: count for label, count in found if label is not None})
        nothing = [count for label, count in found if label is None]
        with session.embedded.relation("staged", staged):
            query: exp.Query = exp.select("*").from_(table("staged"))
            if nothing:
                alone = exp.select(alias(exp.null(), "label"), alias(number(nothing[0]), "records"))
                query = exp.Union(this=query, expression=alone, distinct=False, by_name=True)
            session.embedded.stage(label_table(j), query)
        session.lend(label_table(j))


def with_labels(plan: ReleasePlan, rows: str) -> exp.Select:
    """The released rows of a temporary table, with the columns beside their labels."""
    query = exp.select().from_(table(rows, alias="r"))
    beside: dict[str, list[exp.Expr]] = {}
    for j, columns in enumerate(plan.label_columns):
        same = exp.EQ(this=column(columns.name, "r"), expression=column("label", f"l{j}"))
        query = query.join(table(label_table(j), alias=f"l{j}"), on=same, join_type="LEFT")
        ends = [("low", columns.low), ("high", columns.high)] if columns.bounds is not None else []
        beside[columns.name] = [alias(column(own, f"l{j}"), name) for own, name in (*ends, ("place", columns.rank))]
    for released in plan.columns():
        query = query.select(column(released.name, "r"), *beside.get(released.name, ()))
    return query.select(column(plan.marker, "r")) if plan.marker else query


def write_labels(session: WarehouseSession, plan: ReleasePlan, target: exp.Table) -> int:
    """Creates the table of labels, in the order of columns and ranks, and returns its number of rows.

    Bounds of numbers are in `number_from` and `number_to`, those of dates and timestamps in `time_from` and `time_to`.
    Call it once, after `stage_labels`.
    """
    columns = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS)
    embedded = session.embedded
    embedded.execute(f"CREATE TEMPORARY TABLE {_ALL} ({columns})")
    for j, labelled in enumerate(plan.label_columns):
        ends = {"number": ("low", "high"), "time": ("low", "high")}
        if labelled.bounds not in _NUMBERS:
            ends["number"] = ("NULL", "NULL")
        if labelled.bounds is None or labelled.bounds in _NUMBERS:
            ends["time"] = ("NULL", "NULL")
        embedded.execute(
            f"INSERT INTO {_ALL} SELECT {render(text(labelled.name))}, label, place, records, "
            f"{', '.join(ends['number'])}, {', '.join(ends['time'])}, high_included "
            f"FROM {label_table(j)} ORDER BY place NULLS LAST"
        )
        embedded.execute(drop("TABLE", table(label_table(j))))
    session.create(target, exp.select("*").from_(table(_ALL)))
    written: int = embedded.value(exp.select(exp.Count(this=exp.Star())).from_(table(_ALL)))
    embedded.execute(drop("TABLE", table(_ALL)))
    return written


def label_table(j: int) -> str:
    """The temporary table of a column's released labels."""
    return f"released_labels_{j}"


def _table(columns: LabelColumns, records: dict[str, int]) -> pa.Table:
    """The labels without NULL."""
    hierarchy, labels = columns.attribute.hierarchy, list(records)
    listed = listed_labels(hierarchy)
    kind = columns.bounds
    bounds = [None if kind is None or label in listed else read_bounds(kind, label) for label in labels]
    places = dict(zip(in_order(hierarchy, labels, bounds), itertools.count(1), strict=False))
    type_ = _ARROW[columns.bounds_type] if kind is not None else pa.int64()
    number_ = float if type_ == pa.float64() else int

    def points(found: Iterable[Point | None]) -> pa.Array:
        return pa.array([number_(point) if isinstance(point, Decimal) else point for point in found], type_)

    return pa.table(
        {
            "label": pa.array(labels, pa.string()),
            "low": points(of.low if of else None for of in bounds),
            "high": points(of.high if of else None for of in bounds),
            # Says nothing of labels without an upper bound.
            "high_included": pa.array([of.high_included if of and of.high is not None else None for of in bounds]),
            "place": pa.array([places[i] for i in range(len(labels))], pa.int32()),
            "records": pa.array(list(records.values()), pa.int64()),
        }
    )
