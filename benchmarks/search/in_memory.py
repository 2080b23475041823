"""Reference tables as search problems in memory, so that the search is measured without a database."""

from __future__ import annotations

import functools
from decimal import Decimal
from pathlib import Path

import numpy as np

from benchmarks.datasets import Dataset
from tableveil.classes import NumpyCounter
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice
from tableveil.policy import KAnonymity, LossModel, QualityModel
from tableveil.privacy import privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem


@functools.lru_cache(maxsize=8)
def counter_of(data: Path, dataset: str, quasi_identifiers: tuple[str, ...]) -> NumpyCounter:
    """The base histogram of a table over the quasi-identifiers.

    Raises:
        UnusableError: the table or a hierarchy is not there.
    """
    opened = Dataset.open(data, dataset)
    table = opened.table()
    levels, codes = [], []
    for name in quasi_identifiers:
        column = table.column(name).combine_chunks().dictionary_encode()
        present = column.dictionary.to_pylist()
        values = sorted(present)
        labelled = label_values(InlineLevels(opened.levels(name)), ValueKind.TEXT, values, values)
        levels.append(attribute_levels(labelled, has_null=False))
        order = {value: code for code, value in enumerate(values)}
        codes.append(np.array([order[value] for value in present])[column.indices.to_numpy()])
    combinations, counts = np.unique(np.stack(codes, axis=1), axis=0, return_counts=True)
    return NumpyCounter(levels, list(np.ascontiguousarray(combinations.T)), counts.astype(np.int64))


def columns_of(data: Path, dataset: str) -> tuple[str, ...]:
    """The columns of a table, in the file's order."""
    return Dataset.open(data, dataset).columns


def problem_of(
    data: Path,
    dataset: str,
    quasi_identifiers: tuple[str, ...],
    k: int = 5,
    limit: Decimal = Decimal("0.05"),
    model: QualityModel | None = None,
) -> Problem:
    """The search for the best k-anonymous transformation within the suppression limit; loss unless a model is given."""
    counter = counter_of(data, dataset, quasi_identifiers)
    suppressible = int(limit * counter.records)
    quality = quality_of(model or LossModel(), counter, [1.0] * len(quasi_identifiers), suppressible)
    tops = tuple(levels.top for levels in counter.levels)
    return Problem(Lattice((0,) * len(tops), tops), counter, privacy_of([KAnonymity(k)]), quality, suppressible)
