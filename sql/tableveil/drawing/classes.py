"""Reads the combinations of values of a table whose rows are drawn; no error of it depends on the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, drop, left_join, number, table
from tableveil.dictionary.values import readable
from tableveil.errors import InvalidError
from tableveil.hierarchy import (
    AttributeLevels,
    InlineLevels,
    LabelledValues,
    RuleHierarchy,
    ValueKind,
    attribute_levels,
    label_values,
)
from tableveil.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """The values of a column: `table_name` has the code of each `text`.

    The last code is that of NULL and of all values outside the hierarchy: its label is NULL. `texts` are those of the
    other codes. |H| always counts NULL, and never which values occur.
    """

    table_name: str
    texts: tuple[str, ...]
    levels: AttributeLevels

    def labels(self, level: int) -> list[str | None]:
        """The label of each group at a level."""
        return [*self.texts, None] if level == 0 else list(self.levels.labels[level - 1])


def read_values(
    session: Session, source: Source, name: str, hierarchy: InlineLevels | RuleHierarchy, position: int
) -> ColumnValues:
    """The different values of a column with their labels; call it in a transaction."""
    expression = source.column(name)
    different = exp.select(alias(column(name), "value"), alias(cast(column(name), "VARCHAR"), "text"))
    different = different.from_(source.table()).distinct()
    read = exp.select(readable(expression), column("text")).from_(different.subquery("different"))
    rows = session.rows(read.where(column("text").is_(exp.null()).not_()).order_by("text"))
    covered = _label(hierarchy, expression.kind, rows).covered
    declared = [row for row, covers in zip(rows, covered, strict=True) if covers]
    levels = attribute_levels(_label(hierarchy, expression.kind, declared), has_null=True)
    texts = tuple(text for _, text in declared)
    codes = {text: code for code, text in enumerate(texts)}
    table_name, outside = f"drawing_values_{position}", len(texts)
    data = {
        "text": pa.array([text for _, text in rows], pa.string()),
        "code": pa.array([codes.get(text, outside) for _, text in rows], pa.int32()),
    }
    # An earlier draw of the session may have left it.
    session.execute(drop("TABLE", table(table_name), if_exists=True))
    with session.relation("coded", pa.table(data)):
        session.stage(table_name, "SELECT * FROM coded")
    return ColumnValues(table_name, texts, levels)


def combinations(
    session: Session, source: Source, columns: Sequence[tuple[str, ColumnValues]]
) -> tuple[tuple[NDArray[np.int32], ...], NDArray[np.int64]]:
    """The codes of each combination that occurs, by column, and its number of records."""
    texts = [alias(cast(column(name), "VARCHAR"), f"t{j}") for j, (name, _) in enumerate(columns)]
    counted = exp.select(*texts, alias(exp.Count(this=exp.Star()), "n")).from_(source.table())
    counted = counted.group_by(*(number(j + 1) for j in range(len(columns))))
    query = exp.select().from_(counted.subquery("counted"))
    for j, (_, values) in enumerate(columns):
        same = exp.EQ(this=column("text", f"d{j}"), expression=column(f"t{j}", "counted"))
        query = left_join(query, table(values.table_name, alias=f"d{j}"), same)
        outside = number(len(values.texts))
        query = query.select(alias(exp.Coalesce(this=column("code", f"d{j}"), expressions=[outside]), f"c{j}"))
    query = query.select(alias(cast(exp.Sum(this=column("n", "counted")), "BIGINT"), "n"))
    query = query.group_by(*(number(j + 1) for j in range(len(columns))))
    arrays = session.arrays(query)
    return tuple(arrays[f"c{j}"].astype(np.int32) for j in range(len(columns))), arrays["n"].astype(np.int64)


def check_people(session: Session, source: Source, person: str) -> None:
    """Raises `InvalidError`, always of the same text, unless every row is another person's."""
    counts = (exp.Count(this=exp.Star()), exp.Count(this=exp.Distinct(expressions=[column(person)])))
    rows, people = session.row(exp.select(*counts).from_(source.table()))
    if rows != people:
        raise InvalidError.of(
            "PEOPLE_REPEAT",
            "person_column",
            "NULLs, or people with several records",
            "one record per person, because of differential_privacy",
            "Make a table with one record of each person. The privacy budget is spent.",
        )


def _label(
    hierarchy: InlineLevels | RuleHierarchy, kind: ValueKind, rows: Sequence[tuple[object, str]]
) -> LabelledValues:
    # No value counts for occurring.
    none = np.zeros(len(rows), np.bool_)
    return label_values(hierarchy, kind, [value for value, _ in rows], [text for _, text in rows], none)
