"""The loss by clusters: the squared error that remains in them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import unit_range
from tableveil.aggregation.points import Points, SparseClusters


@dataclass(frozen=True, slots=True, eq=False)
class SquaredError:
    """SSE / SST: the share of the total squared distances that remains within clusters, from 0 to 1.

    Attributes:
        columns: Per aggregated column; 0 if it is constant.
        total: Over all columns together, each standardized to the same total and times its weight: the mean of the
            columns that are not constant, by weight; 0 if there is none.
    """

    columns: NDArray[np.float64]
    total: float


def squared_error(points: Points, clusters: SparseClusters) -> SquaredError:
    """The squared error of clusters of all records, by the distances that `Space` defines, without any projection."""
    shares, weights = [], []
    largest = max((column.weight for column in points.columns), default=0.0) or 1.0
    for column, codes in zip(points.columns, points.codes, strict=True):
        of_entries = codes[clusters.points]
        if column.levels is None:
            column_records = np.bincount(codes, points.counts, len(column.counts)).astype(np.float64)
            position = unit_range(column.positions, column_records)[of_entries]
            within = _of_numbers(position, clusters.clusters, clusters.counts)
            whole = _of_numbers(position, np.zeros_like(clusters.clusters), clusters.counts)
        else:
            within = whole = 0.0
            for level, groups in enumerate(column.levels.groups[:-1]):
                of_level = groups[of_entries]
                within += (2 * level + 1) * _of_groups(of_level, clusters.clusters, clusters.counts)
                whole += (2 * level + 1) * _of_groups(of_level, np.zeros_like(clusters.clusters), clusters.counts)
        shares.append(min(within / whole, 1.0) if whole else 0.0)
        weights.append(column.weight / largest if whole else 0.0)
    total = float(np.dot(shares, weights) / sum(weights)) if any(weights) else 0.0
    return SquaredError(np.array(shares), total)


def _of_numbers(values: NDArray[np.float64], clusters: NDArray[np.intp], counts: NDArray[np.int64]) -> float:
    means = np.bincount(clusters, values * counts) / np.bincount(clusters, counts)
    return float(counts @ (values - means[clusters]) ** 2)


def _of_groups(groups: NDArray[Any], clusters: NDArray[np.intp], counts: NDArray[np.int64]) -> float:
    """The sum of squared distances to the centroids, where different groups have a squared distance of 2.

    Per cluster of n records with n_g in group g: n - sum of n_g^2 / n.
    """
    records = np.bincount(clusters, counts)
    pairs, of = np.unique(clusters * (int(groups.max()) + 1) + groups, return_inverse=True)
    together = np.bincount(of, counts)
    in_cluster = records[pairs // (int(groups.max()) + 1)]
    return float((together * (1.0 - together / in_cluster)).sum())
