"""Builds the dictionary of several columns together: features and a class that a classifier predicts from them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, collected, column, in_one_spelling, number, sql, table
from tableveil.classes import SensitiveColumn
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import ValueKind
from tableveil.source import Column, Source

MOST_CLASSES = 10_000
"""A column of more values cannot be a class."""

FEW_CLASSES = 100
"""In small tables, up to this number of values is allowed even if it is more than half of the records."""


@dataclass(frozen=True, slots=True, eq=False)
class JointDictionary:
    """The combinations of values that occur in `columns`; the last is a class and the others are features.

    `table_name` is a temporary table: `v0`, `v1`, … (the columns' values, NULL being one), `code` from 0 in the order
    of the values, NULLs last, and `n`, the records that have the combination. `features` and `classes` number, per
    code, the combination of the features' values and the value of the class from 0, in their order.
    """

    columns: tuple[Column, ...]
    table_name: str
    values: SensitiveColumn
    features: NDArray[np.int64]
    classes: NDArray[np.int64]


def build_joint(
    session: WarehouseSession, source: Source, columns: tuple[Column, ...], number_: int, field: str
) -> tuple[JointDictionary | None, list[Fault]]:
    """The dictionary of the columns, or the fault of a class with too many values to predict.

    `number_` distinguishes the dictionaries of a job, `field` is the policy's field that names the class.
    """
    names = [f"v{j}" for j in range(len(columns))]
    values = [alias(_value(source_column), name) for source_column, name in zip(columns, names, strict=True)]
    counted = sql(
        "SELECT $values, count(*) AS n FROM $rows GROUP BY $places",
        values=values,
        rows=source.table(),
        places=[number(j + 1) for j in range(len(columns))],
    )
    ranks = {"code": names, "features": names[:-1], "class": names[-1:]}
    query = exp.select(*map(column, names), *(_rank(of, name) for name, of in ranks.items()), column("n"))
    table_name = f"joint_{number_}"
    session.embedded.stage(table_name, query.from_(collected(session, "counted", counted)))
    session.lend(table_name)
    read = exp.select(*(column(name) for name in (*ranks, "n"))).from_(table(table_name)).order_by(column("code"))
    arrays = session.embedded.arrays(read)
    counts, classes = arrays["n"].astype(np.int64), arrays["class"].astype(np.int64)
    faults = _check_classes(columns[-1], int(classes.max(initial=-1)) + 1, int(counts.sum()), field)
    if faults:
        return None, faults
    # Combinations have no name of their own.
    sensitive_column = SensitiveColumn("", counts, protected=False)
    return JointDictionary(columns, table_name, sensitive_column, arrays["features"].astype(np.int64), classes), []


def _value(found: Column) -> exp.Expr:
    value = column(found.name)
    return in_one_spelling(value) if found.kind is ValueKind.FLOAT else value


def _rank(names: Sequence[str], as_: str) -> exp.Expr:
    """The number of the values among those of all rows, from 0; a constant without names."""
    order = [exp.Ordered(this=column(name), nulls_first=False) for name in names]
    ranked = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=order)) if order else number(1)
    return alias(cast(exp.Sub(this=ranked, expression=number(1)), "INTEGER"), as_)


def _check_classes(class_: Column, values: int, records: int, field: str) -> list[Fault]:
    if values <= FEW_CLASSES or (values <= MOST_CLASSES and 2 * values <= records):
        return []
    actual = f"{shortened(class_.name)}, which has {values} values in {records} records"
    expected = f"a column of at most {MOST_CLASSES} values, of which most records share theirs with others"
    return [Fault(field, actual, expected, "Take a column with a few values, or make one in a view of the source.")]
