"""Clusters as equivalence classes, for privacy models, guarantees and aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.points import Points, SparseClusters
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
