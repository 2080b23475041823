"""Reference tables as search problems in memory, so that the search is measured without a database."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import Case, read_cases
from benchmarks.datasets import Dataset
from benchmarks.models import read_models
from tableveil.classes import NumpyCounter
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice
from tableveil.policy import KAnonymity, LossModel, PrivacyModel, QualityModel
from tableveil.privacy import privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem


@dataclass(frozen=True, slots=True)
class Instance:
    """A reference case over the data in a folder."""

    case: Case
    data: Path

    @property
    def name(self) -> str:
        """The dataset and how many quasi-identifiers, for tables."""
        return f"{self.case.dataset}, {len(self.case.quasi_identifiers)} QIs"

    def problem(self) -> Problem:
        """The case's problem, over a counter that has counted nothing yet."""
        models = read_models(self.case.settings)
        return problem_of(
            self.data,
            self.case.dataset,
            self.case.quasi_identifiers,
            models.suppression_limit,
            models.quality,
            models.privacy,
        )


def instances(shared: Path, ids: Sequence[str]) -> list[Instance]:
    """The reference cases whose ids match one of the globs.

    Raises:
        UnusableError: the cases cannot be read, or none matches.
    """
    cases = [case for id_ in ids for case in read_cases(shared / "reference" / "arx.jsonl", id_)]
    return [Instance(case, shared / "data") for case in cases]


def problem_of(
    data: Path,
    dataset: str,
    quasi_identifiers: tuple[str, ...],
    limit: Decimal = Decimal("0.05"),
    quality: QualityModel | None = None,
    privacy: Sequence[PrivacyModel] = (KAnonymity(5),),
) -> Problem:
    """A search over a table's quasi-identifiers, over a counter that has counted nothing yet; for loss unless told.

    Raises:
        UnusableError: the table or a hierarchy is not there.
    """
    levels, groups, counts = _histogram(data, dataset, quasi_identifiers)
    counter = NumpyCounter(levels, groups, counts)
    suppressible = int(limit * counter.records)
    tops = tuple(attribute.top for attribute in levels)
    model = quality_of(quality or LossModel(), counter, [1.0] * len(tops), suppressible)
    return Problem(Lattice((0,) * len(tops), tops), counter, privacy_of(privacy, counter), model, suppressible)


@functools.lru_cache(maxsize=8)
def _histogram(
    data: Path, dataset: str, quasi_identifiers: tuple[str, ...]
) -> tuple[tuple[AttributeLevels, ...], tuple[NDArray[np.integer[Any]], ...], NDArray[np.int64]]:
    """The levels of the quasi-identifiers, the codes of each distinct combination, and its number of records."""
    opened = Dataset.open(data, dataset)
    table = opened.table()
    levels, codes = [], []
    for name in quasi_identifiers:
        values, code = np.unique(table.column(name).to_numpy(zero_copy_only=False), return_inverse=True)
        texts = [str(value) for value in values]
        labelled = label_values(InlineLevels(opened.levels(name)), ValueKind.TEXT, texts, texts)
        levels.append(attribute_levels(labelled, has_null=False))
        codes.append(code.astype(np.int32))
    combinations, counts = np.unique(np.stack(codes, axis=1), axis=0, return_counts=True)
    return tuple(levels), tuple(np.ascontiguousarray(combinations.T)), counts.astype(np.int64)
