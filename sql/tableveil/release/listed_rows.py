"""Writes rows that are sorted while their labels are small numbers: texts and bounds are many times as wide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, column, in_order, listed, number, parameter, table
from tableveil.release.label_columns import RANK_TYPE
from tableveil.release.labels import label_table, stage_counted_labels
from tableveil.release.plan import ReleasePlan

MOST_LISTED = 1_000
"""The most groups of a column: DuckDB makes a list anew for every 2048 rows."""


def listable(plan: ReleasePlan) -> bool:
    """Whether every released record has the label of its group, and no column has many groups."""
    labelled = {columns.name for columns in plan.label_columns}
    radices = zip(plan.dictionaries, plan.classes.layout.radices, strict=False)
    return (
        bool(labelled)
        and not plan.marker
        and not plan.policy.release.class_id
        and plan.own_levels is None
        and plan.aggregated is None
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
    texts = {name: _labels(session, plan, position[name], values[name]) for name in labelled}
    stage_counted_labels(session, plan, [_counted(plan, position[name], texts[name]) for name in labelled])
    bound: list[object] = []

    def entry(found: Sequence[object], type_: str, at: exp.Expr) -> exp.Expr:
        bound.append(list(found))
        return listed(cast(parameter(len(bound)), f"{type_}[]"), at)

    wide: list[exp.Expr] = []
    for i, released in enumerate(plan.columns()):
        sorted_by = column(f"c{i}", "ordered_rows")
        columns = labelled.get(released.name)
        if columns is None:
            rows = rows.select(alias(values[released.name], f"c{i}"))
            wide.append(alias(sorted_by, released.name))
            continue
        j = list(labelled).index(released.name)
        ranked = session.embedded.rows(
            f"SELECT label, place, low, high FROM {label_table(j)} WHERE place IS NOT NULL ORDER BY place"
        )
        places = {label: place for label, place, *_ in ranked}
        group = exp.Add(this=groups.get(position[released.name], number(0)), expression=number(1))
        place = entry([places.get(label) for label in texts[released.name]], "USMALLINT", group)
        rows = rows.select(alias(place, f"c{i}"))
        wide.append(alias(entry([label for label, *_ in ranked], released.type, sorted_by), released.name))
        if columns.bounds is not None:
            for name, ends in ((columns.low, [row[2] for row in ranked]), (columns.high, [row[3] for row in ranked])):
                wide.append(alias(entry(ends, columns.bounds_type, sorted_by.copy()), name))
        wide.append(alias(cast(sorted_by.copy(), RANK_TYPE), columns.rank))
    order = [column(f"c{i}") for i, _ in enumerate(plan.columns())]
    session.write(target, in_order(rows, order, wide), bound)


def _labels(session: WarehouseSession, plan: ReleasePlan, j: int, value: exp.Expr) -> list[str | None]:
    """The label of each group of a quasi-identifier, as it is released."""
    dictionary, level = plan.dictionaries[j], plan.transformation[j]
    if level:
        return list(dictionary.levels.labels[level - 1])
    found = exp.select(alias(column("value"), dictionary.column.name), "code").from_(table(dictionary.table_name))
    coded = exp.select(value, "code").from_(found.subquery("source")).order_by("code")
    return [label for label, _ in session.embedded.rows(coded)]


def _counted(plan: ReleasePlan, j: int, labels: Sequence[str | None]) -> list[tuple[str | None, int]]:
    """The released labels of a quasi-identifier with their numbers of records."""
    groups, records = plan.classes.groups(j)[plan.kept], plan.classes.counts[plan.kept]
    counts = np.bincount(groups, weights=records, minlength=len(labels)).astype(np.int64)
    return [(label, int(count)) for label, count in zip(labels, counts, strict=True) if count]
