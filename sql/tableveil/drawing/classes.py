"""Reads the combinations of values of a table whose rows are drawn, and writes the rows that chance left of them.

No error of it depends on the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, drop, expression, left_join, number, sql, table
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
from tableveil.source.model import DRAWN

_POSITIONAL = "drawn_positions"


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
    of = source.column(name)
    different = "SELECT DISTINCT $name AS value, CAST($name AS VARCHAR) AS text FROM $rows"
    read = f"SELECT $value, text FROM ({different}) AS different WHERE NOT text IS NULL ORDER BY text"
    rows = session.rows(sql(read, name=column(name), rows=source.table(), value=readable(of)))
    covered = _label(hierarchy, of.kind, rows).covered
    declared = [row for row, covers in zip(rows, covered, strict=True) if covers]
    levels = attribute_levels(_label(hierarchy, of.kind, declared), has_null=True)
    texts = tuple(text for _, text in declared)
    codes = {text: code for code, text in enumerate(texts)}
    table_name, outside = f"drawing_values_{position}", len(texts)
    data = {
        "text": pa.array([text for _, text in rows], pa.string()),
        "code": pa.array([codes.get(text, outside) for _, text in rows], pa.int32()),
    }
    # An earlier draw of the session may have left it.
    session.execute(drop("TABLE", table(table_name), if_exists=True))
    session.keep(table_name, pa.table(data))
    return ColumnValues(table_name, texts, levels)


def combinations(
    session: Session, source: Source, columns: Sequence[tuple[str, ColumnValues]]
) -> tuple[tuple[NDArray[np.int32], ...], NDArray[np.int64]]:
    """The codes of each combination that occurs, by column, and its number of records."""
    texts = [alias(cast(column(name), "VARCHAR"), f"t{j}") for j, (name, _) in enumerate(columns)]
    places = [number(j + 1) for j, _ in enumerate(columns)]
    counted = sql("SELECT $texts, count(*) AS n FROM $rows", texts=texts, rows=source.table()).group_by(*places)
    query = exp.select().from_(counted.subquery("counted"))
    for j, (_, values) in enumerate(columns):
        query = left_join(query, table(values.table_name, alias=f"d{j}"), expression(f"d{j}.text = counted.t{j}"))
        outside = number(len(values.texts))
        query = query.select(expression(f"coalesce(d{j}.code, $outside) AS c{j}", outside=outside))
    query = query.select(expression("CAST(sum(counted.n) AS BIGINT) AS n"))
    arrays = session.arrays(query.group_by(*places))
    return tuple(arrays[f"c{j}"].astype(np.int32) for j in range(len(columns))), arrays["n"].astype(np.int64)


def check_people(session: Session, source: Source, person: str) -> None:
    """Raises `InvalidError`, always of the same text, unless every row is another person's."""
    query = "SELECT count(*), count(DISTINCT $person) FROM $rows"
    rows, people = session.row(sql(query, person=column(person), rows=source.table()))
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


def write_drawn(
    session: Session, columns: Sequence[str], labels: Sequence[Sequence[str | None]], left: NDArray[np.int64]
) -> None:
    """Creates the table `DRAWN`: as many rows of each class as are `left`, with its label in each column.

    The rows of an earlier draw in the session are dropped. Call it in a transaction.
    """
    for name in (DRAWN.table, _POSITIONAL):
        session.execute(drop("TABLE", table(name, DRAWN.schema, DRAWN.catalog), if_exists=True))
    data = {f"c{j}": pa.array(list(found), pa.string()) for j, found in enumerate(labels)}
    names = ", ".join(data)
    with session.relation("drawn_classes", pa.table({**data, "n": pa.array(left, pa.int64())})):
        session.stage(
            _POSITIONAL, f"SELECT {names} FROM (SELECT *, unnest(range(n)) FROM drawn_classes) ORDER BY {names}"
        )
    shown = [alias(column(f"c{j}"), name) for j, name in enumerate(columns)]
    session.stage(DRAWN.table, exp.select(*shown).from_(table(_POSITIONAL)))
    session.execute(drop("TABLE", table(_POSITIONAL)))
