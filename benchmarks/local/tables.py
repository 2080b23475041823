"""The tables that local recoding is measured on, as problems of the engine."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Dataset
from tableveil.classes import NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.control import Control
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice
from tableveil.local_recoding import LocalProblem, label_costs
from tableveil.policy import NO_LIMIT, Aggregate, KAnonymity, LossModel, PrivacyModel, SearchOptions
from tableveil.privacy import privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem, search


def problem_of(
    data: Path,
    name: str,
    columns: int | None = None,
    models: Sequence[PrivacyModel] = (KAnonymity(5),),
    sensitive: str | None = None,
) -> LocalProblem:
    """Minimize the arithmetic mean of loss over the first so many columns, the sensitive one left out."""
    dataset = Dataset.open(data, name)
    table = dataset.table()
    levels, codes = [], []
    chosen = [column for column in dataset.columns if column != sensitive][:columns]
    for column in chosen:
        values, numbers = _coded(table.column(column).to_pylist())
        levels.append(
            attribute_levels(label_values(InlineLevels(dataset.levels(column)), ValueKind.TEXT, values, values), False)
        )
        codes.append(numbers)
    combinations, of, counts = np.unique(np.column_stack(codes), axis=0, return_inverse=True, return_counts=True)
    spread = []
    if sensitive is not None:
        values, numbers = _coded(table.column(sensitive).to_pylist())
        pairs, records = np.unique(of * len(values) + numbers, return_counts=True)
        rows = SensitiveRows(pairs // len(values), pairs % len(values), records.astype(np.int64))
        spread.append((SensitiveColumn(sensitive, np.bincount(numbers).astype(np.int64)), rows))
    counter = NumpyCounter(levels, list(combinations.T), counts.astype(np.int64), sensitive=spread)
    costs = label_costs(LossModel(Aggregate.ARITHMETIC_MEAN), levels, [1.0] * len(levels), counter.marginals().counts)
    return LocalProblem(
        tuple(levels),
        combinations,
        counts.astype(np.int64),
        costs,
        (0,) * len(levels),
        tuple(attribute.top for attribute in levels),
        privacy_of(models, counter),
        sensitive=tuple(spread),
    )


def full_domain_optimum(problem: LocalProblem) -> float:
    """The least score of one transformation for all records that suppresses at most 5 % of them."""
    sensitive = problem.sensitive
    counter = NumpyCounter(problem.levels, list(problem.codes.T), problem.counts, sensitive=sensitive)
    suppressible = int(problem.counts.sum()) // 20
    quality = quality_of(LossModel(Aggregate.ARITHMETIC_MEAN), counter, [1.0] * len(problem.levels), suppressible)
    lattice = Lattice(problem.lowest, problem.highest)
    whole = Problem(lattice, counter, problem.privacy, quality, suppressible, False)
    best = search(whole, SearchOptions(NO_LIMIT), Control()).best
    assert best is not None, "the most general transformation is valid"
    return best.score


def _coded(texts: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    values = sorted(set(texts))
    number = {value: code for code, value in enumerate(values)}
    return values, np.fromiter((number[text] for text in texts), np.int64, len(texts))
