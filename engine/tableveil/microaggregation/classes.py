"""Clusters as equivalence classes, for privacy models, guarantees and aggregates, and the squared error in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import Points, SparseClusters, unit_range
from tableveil.classes import ClassValues, EquivalenceClasses, KeyLayout, SensitiveColumn
from tableveil.privacy.distances.model import merged


@dataclass(frozen=True, eq=False)
class ClusterDetails:
    """The values of clusters per sensitive column; clusters have no population."""

    by_column: tuple[ClassValues, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the entries."""
        return sum(v.classes.nbytes + v.values.nbytes + v.counts.nbytes for v in self.by_column)

    def values(self, attribute: int) -> ClassValues:
        """The values of the sensitive column of that position."""
        return self.by_column[attribute]

    def population(self) -> NDArray[np.int64]:
        """Not available for clusters."""
        raise NotImplementedError("clusters are not held against a population")

    def population_only(self) -> int:
        """Not available for clusters."""
        raise NotImplementedError("clusters are not held against a population")

    def selected(self, mask: NDArray[np.bool_]) -> ClusterDetails:
        """The details of the clusters of the mask."""
        number = np.cumsum(mask) - 1
        chosen = []
        for values in self.by_column:
            within = np.flatnonzero(mask[values.classes])
            chosen.append(ClassValues(number[values.classes[within]], values.values[within], values.counts[within]))
        return ClusterDetails(tuple(chosen))


def cluster_classes(
    points: Points, clusters: SparseClusters, sensitive: Sequence[SensitiveColumn]
) -> EquivalenceClasses:
    """The clusters as classes whose key is their number.

    `sensitive` has the columns of `points.sensitive`, in that order: their positions lead to the classes' values.
    """
    by_column = tuple(
        _values(clusters, codes, len(column.counts)) for codes, column in zip(points.sensitive, sensitive, strict=True)
    )
    return classes_of(clusters.sizes, by_column)


def before_clustering(points: Points) -> SparseClusters:
    """One cluster for all records that agree in all aggregated columns: the state before clusters are formed."""
    order = np.lexsort(points.codes[::-1])
    differs = np.zeros(len(order), np.bool_)
    for codes in points.codes:
        differs[1:] |= np.diff(codes[order]) != 0
    return SparseClusters(order, np.cumsum(differs), points.counts[order])


def column_values(points: Points, clusters: SparseClusters, column: int) -> ClassValues:
    """How the clusters spread over the values of an aggregated column, given by its position."""
    return _values(clusters, points.codes[column], len(points.columns[column].counts))


def classes_of(sizes: NDArray[np.int64], by_column: tuple[ClassValues, ...]) -> EquivalenceClasses:
    """Classes from numbered clusters: their sizes and, per sensitive column, their values."""
    number = len(sizes)
    words = (np.arange(number, dtype=np.int64),)
    return EquivalenceClasses(KeyLayout.of([number]), words, sizes, (0,), ClusterDetails(by_column))


def _values(clusters: SparseClusters, codes: NDArray[np.int32], width: int) -> ClassValues:
    of_entries = codes[clusters.points].astype(np.intp)
    return merged(clusters.clusters, of_entries, clusters.counts, (clusters.number, width))


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
