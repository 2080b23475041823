"""Builds a quasi-identifier's dictionary table and its arrays for the search."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    drop,
    in_one_spelling,
    number,
    sql,
    table,
    united,
)
from tableveil.dictionary.values import CodedAttribute, check_fit, readable, uncovered
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import AttributeLevels, ValueKind, attribute_levels, label_values
from tableveil.policy import AttributePolicy, NullHandling
from tableveil.source import Column, Source

_ARROW = {
    "VARCHAR": pa.string(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
}
"""The types whose values come back from Python as they were; values of others stay in the database."""

_FEW = 10_000
"""A column with at most so many values is read together with others."""

Values = Sequence[tuple[Any, str, int]]
"""The distinct values of a column in their order, NULL last: each as rules read it, as text, and how many records."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The dictionary of one quasi-identifier.

    `table_name` is a temporary table: `value` (the column's type), `code`, and per level i >= 1 `l<i>` (label) and
    `g<i>` (group number); NULL, if it occurs, has the last code. It also has the values that only the population has.
    `nulls` counts the source's records with NULL, `distinct` its distinct values, including NULL; `hierarchy` names the
    used hierarchy for the evidence; `top_label` is the top's label for every value.
    """

    attribute: AttributePolicy
    column: Column
    table_name: str
    levels: AttributeLevels
    nulls: int
    distinct: int
    hierarchy: str
    top_label: str

    @property
    def withholds(self) -> bool:
        """Whether records with a NULL here, in the source or the population, are in no class."""
        return self.levels.null_code is not None and self.attribute.nulls is NullHandling.SUPPRESS

    def label_name(self, level: int) -> str:
        """Column of the labels at a level >= 1."""
        return f"l{level}"

    def group_name(self, level: int) -> str:
        """Column of the group numbers at a level."""
        return f"g{level}" if level else "code"


def read_together(
    session: WarehouseSession, source: Source, columns: Sequence[Column], estimated: Mapping[str, int]
) -> dict[str, Values]:
    """The values of columns of like types that have few, about as many as `estimated`: few statements cost less."""
    alike = defaultdict[bool, list[Column]](list)
    for each in columns if not session.traits.collects else ():
        if each.type in _ARROW and estimated.get(each.name, _FEW + 1) <= _FEW:
            alike[each.type == "VARCHAR"].append(each)
    read: dict[str, Values] = {}
    for together in alike.values():
        rows: list[list[tuple[Any, str, int]]] = [[] for _ in together]
        queries = []
        for i, each in enumerate(together):
            values = _distinct_values(session, source, each.name).subquery("numbered_values", copy=False)
            shown = [alias(number(i), "nr"), readable(each), column("text"), column("records"), column("code")]
            queries.append(exp.select(*shown).from_(values, copy=False))
        ordered = exp.select("*").from_(united(queries).subquery("together", copy=False), copy=False)
        for i, value, text, records, _ in session.embedded.rows(ordered.order_by("nr", "code")):
            rows[i].append((value, text, records))
        read |= {each.name: of for each, of in zip(together, rows, strict=True)}
    return read


def build_dictionary(
    session: WarehouseSession, source: Source, of: CodedAttribute, known: Values | None = None
) -> tuple[Dictionary | None, list[Fault]]:
    """The dictionary, or the faults that prevent it, such as values that the hierarchy does not cover.

    `known` are the column's values, if `read_together` has read them.
    """
    attribute, hierarchy, field = of.attribute, of.hierarchy, of.field
    assert hierarchy is not None, "a generalized column has a hierarchy"
    source_column = source.column(attribute.column)
    faults = check_fit(attribute, hierarchy, source_column.kind, f"{field}.hierarchy")
    if faults:
        return None, faults
    arrow, values_name = _ARROW.get(source_column.type), f"values_{of.number}"
    rows = known
    if rows is None:
        values: exp.Expr = _distinct_values(session, source, attribute.column).subquery("numbered_values")
        if arrow is None:
            session.embedded.stage(values_name, exp.select("*").from_(values))
            values = table(values_name)
        read = exp.select(readable(source_column), column("text"), column("records")).from_(values)
        rows = session.embedded.rows(read.order_by("code"))
    null_records = [records for _, text, records in rows[-1:] if text is None]
    rows = rows[: len(rows) - len(null_records)]
    # |H| is about the source: no record could have had a value that only the population has.
    own = np.fromiter((records > 0 for _, _, records in rows), np.bool_, len(rows))
    labelled = label_values(hierarchy, source_column.kind, [row[0] for row in rows], [row[1] for row in rows], own)
    faults = _check_covered(source, attribute.column, f"{field}.hierarchy", rows, labelled.covered)
    if faults:
        return None, faults
    nulls = sum(null_records)
    null_counts = nulls > 0 and attribute.nulls is NullHandling.VALUE
    levels = attribute_levels(labelled, bool(null_records), null_counts)
    faults = _check_level_limits(attribute, levels, field)
    if faults:
        return None, faults
    table_name = f"dictionary_{of.number}"
    if arrow is None:
        _write_numbered(session.embedded, table_name, values_name, levels)
    else:
        _write(
            session.embedded,
            table_name,
            pa.array([*(row[0] for row in rows), *(None for _ in null_records)], arrow),
            levels,
        )
    session.lend(table_name)
    return Dictionary(
        attribute,
        source_column,
        table_name,
        levels,
        nulls,
        int(own.sum()) + (nulls > 0),
        of.reference,
        labelled.top_label,
    ), []


def _distinct_values(session: WarehouseSession, source: Source, name: str) -> exp.Select:
    """The distinct values: `value`, `text`, `code` in the values' order, NULL last, and `records`.

    Values that only the population has have 0 records.
    """
    of_source = "SELECT $name AS value, count(*) AS records FROM $source GROUP BY $name"
    distinct = sql(of_source, name=column(name), source=source.table())
    if source.population is not None:
        others = sql("SELECT DISTINCT $name, 0 FROM $people", name=column(name), people=source.population.table())
        both = united([distinct, others]).subquery("both_values")
        distinct = sql("SELECT value, CAST(sum(records) AS BIGINT) AS records FROM $both GROUP BY value", both=both)
    return sql(
        "SELECT value, CAST(value AS VARCHAR) AS text, "
        "CAST(row_number() OVER (ORDER BY value) - 1 AS INTEGER) AS code, records FROM $distinct",
        distinct=collected(session, "distinct_values", distinct),
    )


def _check_covered(
    source: Source, name: str, field: str, rows: Sequence[tuple[object, str, int]], covered: NDArray[np.bool_]
) -> list[Fault]:
    """The fault of values without labels, in the source or the population; rows are (value, text, records)."""
    without = [row for row, has_labels in zip(rows, covered, strict=True) if not has_labels]
    faults = []
    own = [text for _, text, records in without if records]
    if own:
        faults.append(uncovered(name, field, own))
    others = [text for _, text, records in without if not records]
    if others:
        assert source.population is not None
        among = f"in the population {shortened(str(source.population.reference))}"
        faults.append(uncovered(name, source.population.field, others, among))
    return faults


def _check_level_limits(attribute: AttributePolicy, levels: AttributeLevels, field: str) -> list[Fault]:
    expected = f"a level from 0 to {levels.top}, the hierarchy's top"
    limits = {"minimum_level": attribute.minimum_level, "maximum_level": attribute.maximum_level}
    return [
        Fault(f"{field}.{name}", str(level), expected)
        for name, level in limits.items()
        if level is not None and level > levels.top
    ]


def _labelled(levels: AttributeLevels) -> dict[str, pa.Array]:
    """The columns of labels and groups, by codes."""
    columns: dict[str, pa.Array] = {}
    for level in range(1, levels.top + 1):
        groups = levels.groups[level]
        columns[f"l{level}"] = pa.array(levels.labels[level - 1], pa.string()).take(pa.array(groups))
        columns[f"g{level}"] = pa.array(groups)
    return columns


def _write(session: Session, table_name: str, values: pa.Array, levels: AttributeLevels) -> None:
    """Writes the dictionary of values that are the same in Python."""
    columns = {"value": values, "code": pa.array(levels.groups[0], pa.int32()), **_labelled(levels)}
    with session.relation("labelled", pa.table(columns)):
        session.stage(table_name, exp.select("*").from_(table("labelled")))


def _write_numbered(session: Session, table_name: str, values_name: str, levels: AttributeLevels) -> None:
    """Writes the dictionary of the values in a temporary table, which is dropped."""
    columns = {"position": pa.array(levels.groups[0]), **_labelled(levels)}
    with session.relation("labelled", pa.table(columns)):
        query = (
            "SELECT distinct_values.value, distinct_values.code, $labels FROM $values AS distinct_values "
            "JOIN labelled ON distinct_values.code = labelled.position"
        )
        labels = [column(name, "labelled") for name in columns if name != "position"]
        session.stage(table_name, sql(query, labels=labels, values=table(values_name)))
    session.execute(drop("TABLE", table(values_name)))


def value_texts(session: Session, dictionaries: Sequence[Dictionary]) -> list[list[str | None]]:
    """Per dictionary and code, the value as a label at level 0; all in one statement."""
    texts: list[list[str | None]] = [[] for _ in dictionaries]
    if not texts:
        return texts
    queries = []
    for position, dictionary in enumerate(dictionaries):
        value: exp.Expr = column("value")
        if dictionary.column.kind is ValueKind.FLOAT:
            value = in_one_spelling(value)
        label = alias(cast(value, "VARCHAR"), "label")
        queries.append(
            exp.select(alias(number(position), "position"), column("code"), label).from_(table(dictionary.table_name))
        )
    for position, _, label in session.rows(united(queries).order_by("position", "code")):
        texts[position].append(label)
    return texts
