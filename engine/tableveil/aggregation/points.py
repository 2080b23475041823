"""The points to cluster: distinct combinations of values with their records; and clusters of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels
from tableveil.policy import Aggregation


@dataclass(frozen=True, slots=True, eq=False)
class AggregatedColumn:
    """The values that occur in an aggregated column have codes from 0 in their order; there is no NULL among them.

    Attributes:
        column: Its name.
        aggregation: How it is aggregated.
        counts: Per code, the records that have the value; at least 1.
        positions: Per code the value as a number, ascending (after coding, equal ones may follow each other): numbers
            as they are, dates in days and timestamps in seconds since 1970-01-01, ranks of ordinal values from 0; for
            nominal values the code itself.
        levels: The groups of the codes by the column's hierarchy, if the column is nominal; else None.
        coded: The positions of bottom and top coding; no position is beyond them; infinite if there is no coding.
        weight: Factor of the column's squared distances and of its part of a score: finite, at least 0.
    """

    column: str
    aggregation: Aggregation
    counts: NDArray[np.int64]
    positions: NDArray[np.float64]
    levels: AttributeLevels | None = None
    coded: tuple[float, float] = (-math.inf, math.inf)
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The distinct combinations of the codes of aggregated columns, and of sensitive ones where these matter.

    Attributes:
        columns: The aggregated columns.
        codes: Per aggregated column, the code of each point.
        counts: Per point, its number of records; at least 1.
        sensitive: Per column that is counted in clusters, the code of each point's value: the sensitive columns that a
            privacy model looks at; where people have several records also the people, and their pairs with values.
        people: Per point, whose records these are, where people have several; None: every record is another person.
    """

    columns: tuple[AggregatedColumn, ...]
    codes: tuple[NDArray[np.int32], ...]
    counts: NDArray[np.int64]
    sensitive: tuple[NDArray[np.int32], ...] = ()
    people: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SparseClusters:
    """Which records are in which cluster, sparse: `counts[i]` > 0 records of point `points[i]` are in `clusters[i]`.

    Entries are in the order of cluster, then point, each pair once; clusters are numbered from 0 without gaps. Records
    of one point may be in several clusters.
    """

    points: NDArray[np.intp]
    clusters: NDArray[np.intp]
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls, points: NDArray[np.integer[Any]], clusters: NDArray[np.integer[Any]], counts: NDArray[np.int64]
    ) -> SparseClusters:
        """Makes clusters from entries in any order, several of which may name one pair.

        Clusters are numbered without gaps.
        """
        order = np.lexsort((points, clusters))
        points, clusters, counts = points[order], clusters[order], counts[order]
        first = np.ones(len(points), np.bool_)
        first[1:] = (np.diff(points) != 0) | (np.diff(clusters) != 0)
        starts = np.flatnonzero(first)
        summed = np.add.reduceat(counts, starts) if len(starts) else counts
        return cls(points[starts].astype(np.intp), clusters[starts].astype(np.intp), summed)

    @property
    def number(self) -> int:
        """How many clusters there are."""
        return int(self.clusters[-1]) + 1 if len(self.clusters) else 0

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Per cluster, its number of records."""
        sizes = np.zeros(self.number, np.int64)
        np.add.at(sizes, self.clusters, self.counts)
        return sizes


@dataclass(frozen=True, slots=True, eq=False)
class Clustered:
    """Clusters and how they were found.

    Attributes:
        clusters: All records of the points.
        account: The method that was used and why, in one sentence without a full stop.
        optimal: Whether no clusters of at least k records have a lower squared error.
        merged: How many times clusters were merged to meet privacy models.
    """

    clusters: SparseClusters
    account: str
    optimal: bool = False
    merged: int = 0
