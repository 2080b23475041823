"""Reference tables as search problems in memory, so that the search is measured without a database."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import Case, read_cases
from benchmarks.datasets import Dataset
from benchmarks.models import Models, distances_of, read_models
from tableveil.classes import NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice
from tableveil.policy import ClassificationModel, Distance, OrderBy
from tableveil.privacy import privacy_of
from tableveil.quality import ClassColumn, Features, quality_of
from tableveil.search import Problem

Codes = NDArray[np.integer[Any]]


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
        return problem_of(self.data, self.case.dataset, self.case.quasi_identifiers, read_models(self.case.settings))


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
    models: Models,
    generated: Mapping[str, Codes] | None = None,
) -> Problem:
    """A search over a table's quasi-identifiers, over a counter that has counted nothing yet.

    `generated` are sensitive columns that the table does not have: by name, the code of each record of the sample, from
    0 without a gap.

    Raises:
        UnusableError: the table or a hierarchy is not there.
    """
    levels, groups, places = records_of(data, dataset, quasi_identifiers)
    sampled = places[:: models.every]
    sensitive = [_histogram(name, sampled, *_values(data, dataset, name, models)) for name in models.sensitive]
    sensitive += [_histogram(name, sampled, codes) for name, codes in (generated or {}).items()]
    features = None
    if isinstance(models.quality, ClassificationModel):
        features, classes = _classified(data, dataset, quasi_identifiers, models, len(sensitive))
        sensitive += [_histogram("", sampled, codes) for codes in classes]
    combinations = len(groups[0])
    counter = NumpyCounter(
        levels,
        groups,
        np.bincount(sampled, minlength=combinations),
        sensitive=sensitive,
        population=np.bincount(places, minlength=combinations) if models.every else None,
    )
    people = len(places) if models.every else models.population_size
    if models.sampling_fraction is not None:
        people = round(len(sampled) / models.sampling_fraction)
    suppressible = int(models.suppression_limit * counter.records)
    tops = tuple(attribute.top for attribute in levels)
    quality = quality_of(models.quality, counter, [1.0] * len(tops), suppressible, models.game, features)
    privacy = privacy_of(models.privacy, counter, people, models.game)
    return Problem(Lattice((0,) * len(tops), tops), counter, privacy, quality, suppressible)


def _classified(
    data: Path, dataset: str, quasi_identifiers: tuple[str, ...], models: Models, first: int
) -> tuple[Features, list[Codes]]:
    """The predicting features, all quasi-identifiers, and each record's class; `first` is the first one's position."""
    assert isinstance(models.quality, ClassificationModel)
    codes = [_values(data, dataset, name, models)[0] for name in models.quality.classes]
    told = []
    for position, of_records in enumerate(codes, start=first):
        values = np.arange(int(of_records.max()) + 1)
        told.append(ClassColumn(position, np.zeros_like(values), values))
    return Features(tuple(range(len(quasi_identifiers))), tuple(told)), codes


@functools.lru_cache(maxsize=8)
def records_of(
    data: Path, dataset: str, quasi_identifiers: tuple[str, ...]
) -> tuple[tuple[AttributeLevels, ...], tuple[Codes, ...], NDArray[np.intp]]:
    """The levels of the quasi-identifiers, the codes of each distinct combination, and per record its combination."""
    opened = Dataset.open(data, dataset)
    table = opened.table()
    levels, codes = [], []
    for name in quasi_identifiers:
        values, code = np.unique(table.column(name).to_numpy(zero_copy_only=False), return_inverse=True)
        levels.append(_levels(opened, name, values))
        codes.append(code.astype(np.int32))
    combinations, places = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    return tuple(levels), tuple(np.ascontiguousarray(combinations.T)), places.reshape(-1)


def _values(data: Path, dataset: str, name: str, models: Models) -> tuple[Codes, AttributeLevels | None]:
    """Per record of the sample the code of its value, in the column's order, and its levels if a model needs them."""
    opened = Dataset.open(data, dataset)
    texts = opened.table().column(name).to_numpy(zero_copy_only=False)[:: models.every]
    values, codes = np.unique(texts, return_inverse=True)
    if (models.orders.get(name) or opened.order(name)) is OrderBy.NUMBER:
        order = sorted(range(len(values)), key=lambda code: Decimal(values[code]))
        values, codes = values[order], np.argsort(order)[codes]
    hierarchical = Distance.HIERARCHICAL in distances_of(models.privacy, name)
    return codes, _levels(opened, name, values) if hierarchical else None


def _levels(dataset: Dataset, name: str, values: NDArray[np.object_]) -> AttributeLevels:
    texts = [str(value) for value in values]
    labelled = label_values(InlineLevels(dataset.levels(name)), ValueKind.TEXT, texts, texts)
    return attribute_levels(labelled, has_null=False)


def _histogram(
    name: str, places: NDArray[np.intp], codes: Codes, levels: AttributeLevels | None = None
) -> tuple[SensitiveColumn, SensitiveRows]:
    """The records of each combination by their values; every code up to the last must occur."""
    counts = np.bincount(codes)
    entries, records = np.unique(places * len(counts) + codes, return_counts=True)
    rows, values = np.divmod(entries, len(counts))
    return SensitiveColumn(name, counts, levels=levels), SensitiveRows(rows, values, records)
