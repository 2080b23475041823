"""Generated records with numeric quasi-identifiers, all of them different."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation import AggregatedColumn, Points
from tableveil.policy import Aggregation

SEED = 1

Generator = Callable[[np.random.Generator, int, int], NDArray[np.float64]]


def _correlated(random: np.random.Generator, records: int, columns: int) -> NDArray[np.float64]:
    """Any two columns have a correlation of 0.64."""
    return 0.8 * random.normal(size=(records, 1)) + 0.6 * random.normal(size=(records, columns))


GENERATORS: Mapping[str, Generator] = {
    "uniform": lambda random, records, columns: random.random((records, columns)),
    "normal": lambda random, records, columns: random.normal(size=(records, columns)),
    "correlated": _correlated,
    "log-normal": lambda random, records, columns: np.exp(random.normal(size=(records, columns))),
}


def generated(distribution: str, records: int, columns: int) -> Points:
    """A point per record."""
    data = GENERATORS[distribution](np.random.default_rng(SEED), records, columns)
    found = [np.unique(data[:, j], return_inverse=True, return_counts=True) for j in range(columns)]
    return Points(
        tuple(AggregatedColumn(f"q{j}", Aggregation(), counts, values) for j, (values, _, counts) in enumerate(found)),
        tuple(codes.astype(np.int32) for _, codes, _ in found),
        np.ones(records, np.int64),
    )
