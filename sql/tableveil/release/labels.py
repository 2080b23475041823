"""The released labels: their bounds and ranks, and the public table of all of them, from the released rows alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, collected, column, drop, left_join, sql, table, united
from tableveil.hierarchy import Bounds, Point, ValueKind, in_order, listed_labels, read_bounds
from tableveil.hierarchy.rules import Intervals
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

STAGED = "label_staging"
"""The temporary table of all released labels, with the position of their column among those of labels."""

_ARROW = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us")}


@dataclass(frozen=True, slots=True)
class ReleasedLabel:
    """A label with its bounds, its `place` among the released ones of its column, and its number of records.

    NULL is a label without a place.
    """

    label: str | None
    low: Any
    high: Any
    high_included: bool | None
    place: int | None
    records: int


def stage_labels(session: WarehouseSession, plan: ReleasePlan, rows: str) -> None:
    """Makes the table of released labels; `rows` is a temporary table of the released rows."""
    kept = exp.select().from_(table(rows))
    counting: WarehouseSession = session
    records: exp.Expr = exp.Count(this=exp.Star())
    if plan.marker:
        kept = kept.where(exp.Not(this=column(plan.marker)))
    if not session.traits.views_keep_rows:
        # Rows that are computed again for each statement are counted once, by all labels together.
        labels = [column(columns.name) for columns in plan.label_columns]
        together = kept.select(*labels, alias(records, "n")).group_by(*(label.copy() for label in labels))
        counting, kept = session.embedded, exp.select().from_(collected(session, "labels_together", together))
        records = cast(exp.Sum(this=column("n")), "BIGINT")
    counted: list[list[tuple[str | None, int]]] = [[] for _ in plan.label_columns]
    queries = [
        kept.select(exp.convert(j), column(c.name), records.copy()).group_by(column(c.name))
        for j, c in enumerate(plan.label_columns)
    ]
    for j, label, count in counting.rows(united(queries)):
        counted[j].append((label, count))
    stage_counted_labels(session, plan, counted)


def stage_counted_labels(
    session: WarehouseSession, plan: ReleasePlan, counted: Sequence[Sequence[tuple[str | None, int]]]
) -> list[list[ReleasedLabel]]:
    """Makes the table as `stage_labels` does, from the labels of each column with their numbers of records.

    Returns the labels of each column by their places, NULL last.
    """
    released = [_released(*of_column) for of_column in zip(plan.label_columns, counted, strict=True)]
    of_columns = enumerate(zip(plan.label_columns, released, strict=True))
    at = [(j, columns, label) for j, (columns, labels) in of_columns for label in labels]
    bounds = {
        f"{end}_{type_.lower()}": pa.array(
            [getattr(label, end) if columns.bounds_type == type_ else None for _, columns, label in at], arrow
        )
        for type_, arrow in _ARROW.items()
        for end in ("low", "high")
    }
    staged = {
        "at": pa.array([j for j, *_ in at], pa.int32()),
        "column_name": pa.array([columns.name for _, columns, _ in at], pa.string()),
        "label": pa.array([label.label for *_, label in at], pa.string()),
        "place": pa.array([label.place for *_, label in at], pa.int32()),
        "records": pa.array([label.records for *_, label in at], pa.int64()),
        **bounds,
        "high_included": pa.array([label.high_included for *_, label in at], pa.bool_()),
    }
    session.embedded.keep(STAGED, pa.table(staged))
    session.lend(STAGED)
    return released


def labels_at(plan: ReleasePlan, j: int, name: str) -> exp.Subquery:
    """The released labels of a column under an alias: `label`, `place`, and `low` and `high` if it has bounds."""
    columns = plan.label_columns[j]
    query = exp.select("label", "place").from_(table(STAGED)).where(column("at").eq(j))
    if columns.bounds is not None:
        type_ = columns.bounds_type.lower()
        query = query.select(*(alias(column(f"{end}_{type_}"), end) for end in ("low", "high")))
    return query.subquery(name)


def with_labels(plan: ReleasePlan, rows: str) -> exp.Select:
    """The released rows of a temporary table, with the columns beside their labels."""
    query = exp.select().from_(table(rows, alias="r"))
    companions: dict[str, list[exp.Expr]] = {}
    for j, columns in enumerate(plan.label_columns):
        same = exp.EQ(this=column(columns.name, "r"), expression=column("label", f"l{j}"))
        query = left_join(query, labels_at(plan, j, f"l{j}"), same)
        ends = [("low", columns.low), ("high", columns.high)] if columns.bounds is not None else []
        companions[columns.name] = [alias(column(own, f"l{j}"), name) for own, name in (*ends, ("place", columns.rank))]
    for released in plan.columns():
        query.select(column(released.name, "r"), *companions.get(released.name, ()), copy=False)
    return query.select(column(plan.marker, "r")) if plan.marker else query


def write_labels(session: WarehouseSession, plan: ReleasePlan, target: exp.Table) -> dict[str, int]:
    """Creates the table of labels, in the order of columns and ranks, and returns how many labels each column has.

    Bounds of numbers are in `number_from` and `number_to`, those of dates and timestamps in `time_from` and `time_to`.
    Call it once, after `stage_labels` if any column has labels.
    """
    if not plan.label_columns:
        stage_counted_labels(session, plan, [])
    query = sql(
        "SELECT column_name AS column_name, label AS label, place AS rank, records AS records, "
        "coalesce(CAST(low_bigint AS DOUBLE), CAST(low_double AS DOUBLE)) AS number_from, "
        "coalesce(CAST(high_bigint AS DOUBLE), CAST(high_double AS DOUBLE)) AS number_to, "
        "coalesce(CAST(low_date AS TIMESTAMP), CAST(low_timestamp AS TIMESTAMP)) AS time_from, "
        "coalesce(CAST(high_date AS TIMESTAMP), CAST(high_timestamp AS TIMESTAMP)) AS time_to, "
        f"high_included AS to_included FROM {STAGED}"
    )
    session.create(target, query.order_by("at", exp.Ordered(this=column("place"), nulls_first=False)))
    embedded = session.embedded
    counted = dict(embedded.rows(sql(f"SELECT column_name, count(*) FROM {STAGED} GROUP BY column_name")))
    embedded.execute(drop("TABLE", table(STAGED)))
    return {columns.name: counted.get(columns.name, 0) for columns in plan.label_columns}


def _closed(bounds: Bounds, rule: Intervals, kind: ValueKind) -> Bounds:
    """The bounds with the ends of the range where the label has none; both ends are values."""
    ends = [read_bounds(kind, end) for end in (rule.minimum, rule.maximum)]
    low, high = (end.low if end is not None else None for end in ends)
    if bounds.low is None:
        return replace(bounds, low=low)
    return bounds if bounds.high is not None else replace(bounds, high=high, high_included=True)


def _released(columns: LabelColumns, counted: Sequence[tuple[str | None, int]]) -> list[ReleasedLabel]:
    """The labels by their places, NULL last."""
    records = {label: count for label, count in counted if label is not None}
    hierarchy, labels, kind = columns.attribute.hierarchy, list(records), columns.bounds
    listed = listed_labels(hierarchy)
    bounds = [None if kind is None or label in listed else read_bounds(kind, label) for label in labels]
    if columns.closed is not None and kind is not None:
        bounds = [of and _closed(of, columns.closed, kind) for of in bounds]
    number_ = float if columns.bounds_type == "DOUBLE" else int

    def point(point: Point | None) -> Any:
        return number_(point) if isinstance(point, Decimal) else point

    released = [
        ReleasedLabel(
            labels[i],
            point(of.low) if of else None,
            point(of.high) if of else None,
            # Says nothing of labels without an upper bound.
            of.high_included if of and of.high is not None else None,
            place,
            records[labels[i]],
        )
        for place, i in enumerate(in_order(hierarchy, labels, bounds), 1)
        for of in (bounds[i],)
    ]
    nothing = [ReleasedLabel(None, None, None, None, None, count) for label, count in counted if label is None]
    return released + nothing
