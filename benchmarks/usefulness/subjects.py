"""The tables that the usefulness of releases is measured on: quasi-identifiers, and one column to be predicted."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Dataset
from benchmarks.discharges import TABLE, demo_policy, discharges
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Transformation

ROWS = 20_000
"""The rows of the generated hospital."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A table as arrays.

    Attributes:
        name: The name in tables.
        levels: The hierarchies, one per quasi-identifier.
        numbers: Per quasi-identifier, its values as numbers by code; None if they are categories.
        codes: Shape (records, quasi-identifiers).
        target: Per record, the code of the column to be predicted, which is no quasi-identifier.
        lowest: The least levels of the policy.
    """

    name: str
    levels: tuple[AttributeLevels, ...]
    numbers: tuple[NDArray[np.float64] | None, ...]
    codes: NDArray[np.int64]
    target: NDArray[np.int64]
    lowest: Transformation


def subjects(shared: Path) -> Iterator[Subject]:
    """Three tables of the folder, and the demo's hospital."""
    for name, columns, target in (("adult", 8, "salary-class"), ("fars", 7, "iinjury"), ("mach2019", 10, "Q5A")):
        dataset = Dataset.open(shared / "data", name)
        table = dataset.table()
        chosen = [column for column in dataset.columns if column != target][:columns]
        found = [
            _column(table.column(column).to_pylist(), ValueKind.TEXT, InlineLevels(dataset.levels(column)))
            for column in chosen
        ]
        yield _subject(f"{name}, {columns} QIs", found, table.column(target).to_pylist(), (0,) * columns)
    policy = demo_policy()
    with duckdb.connect(discharges(ROWS), read_only=True) as connection:
        rows = connection.sql(f"SELECT * FROM {TABLE}").to_arrow_table()
    found = []
    for attribute in policy.quasi_identifiers:
        column = rows.column(attribute.column)
        kinds = {"int": ValueKind.INTEGER, "date": ValueKind.DATE}
        kind = next((kind for begin, kind in kinds.items() if str(column.type).startswith(begin)), ValueKind.TEXT)
        found.append(_column(column.to_pylist(), kind, attribute.hierarchy))
    lowest = tuple(policy.least_level(attribute) for attribute in policy.quasi_identifiers)
    chapters = [str(value)[:1] for value in rows.column("diagnosis").to_pylist()]
    yield _subject(f"hospital, {len(lowest)} QIs", found, chapters, lowest)


def _subject(name: str, found: list[Any], target: list[str], lowest: Transformation) -> Subject:
    levels, numbers, codes = zip(*found, strict=True)
    _, classes = np.unique(np.array(target, object).astype(str), return_inverse=True)
    return Subject(name, levels, numbers, np.column_stack(codes), classes, lowest)


def _column(
    values: list[Any], kind: ValueKind, hierarchy: Any
) -> tuple[AttributeLevels, NDArray[np.float64] | None, NDArray[np.int64]]:
    """Its levels, numbers, and codes; values are in their order, numbers in texts by size, and NULL comes last."""
    numeric = kind is not ValueKind.TEXT or all(value.lstrip("-").isdigit() for value in values if value is not None)
    known = {value for value in values if value is not None}
    distinct = sorted(known, key=(lambda value: int(value)) if numeric and kind is ValueKind.TEXT else None)
    has_null = None in values
    code = {value: number for number, value in enumerate([*distinct, *([None] if has_null else [])])}
    labelled = label_values(hierarchy, kind, distinct, list(map(str, distinct)))
    numbers = None
    if numeric and not has_null:
        numbers = np.array([value.toordinal() if kind is ValueKind.DATE else int(value) for value in distinct], float)
    codes = np.fromiter((code[value] for value in values), np.int64, len(values))
    return attribute_levels(labelled, has_null), numbers, codes
