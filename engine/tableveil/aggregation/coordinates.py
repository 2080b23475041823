"""Coordinates of points: clusters are formed by their Euclidean distances."""

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


MOST_INDICATORS = 32
"""Coordinates of a nominal column that each say whether a value is in one group."""

PROJECTED = 16
"""Coordinates that stand together for the groups of all remaining levels."""

_SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """The coordinates of points, kept per code of each column and looked up per point when needed.

    `tables` has per coordinate the number of its column, and its values per code. Every sum of a coordinate over
    records is exact, see `_summable`, so it depends neither on their order nor on how they are spread over points.
    """

    points: Points
    tables: tuple[tuple[int, NDArray[np.float64]], ...]

    @classmethod
    def of(cls, points: Points) -> Space:
        """The space in which each column has a total variance of its weight over the records, or 0 if it is constant.

        Numbers, dates and ranks have one coordinate. The coordinates of nominal values are such that the distance of
        two values is the lowest level at which they have a common label, divided by the hierarchy's top (before
        scaling). This is exact for the highest levels, which have up to 32 groups together. Distances at levels below
        come from a random projection (Johnson-Lindenstrauss) on 16 coordinates: different values stay different, but
        the squares of their distances are off by a third.

        Weights count by their ratio to the largest. Columns that do not vary or have no weight have no coordinates; if
        no column has any, there is one coordinate that is 0 everywhere.
        """
        largest = max((column.weight for column in points.columns), default=0.0)
        tables = []
        for number, (column, codes) in enumerate(zip(points.columns, points.codes, strict=True)):
            records = np.bincount(codes, points.counts, len(column.counts)).astype(np.float64)
            if not (column.weight and np.count_nonzero(records) > 1):
                continue
            if column.levels is None:
                values = [unit_range(column.positions, records)]
            else:
                values = _embedded(column.levels, records)
            for table in _standardized(values, records):
                tables.append((number, _summable(table * math.sqrt(column.weight / largest), records)))
        if not tables:
            tables.append((0, np.zeros(len(points.columns[0].counts))))
        return cls(points, tuple(tables))

    @property
    def dimensions(self) -> int:
        """How many coordinates there are."""
        return len(self.tables)

    def at(self, points: NDArray[np.integer[Any]] | slice = slice(None)) -> NDArray[np.float64]:
        """Shape (dimensions, points): the coordinates of some points, or of all."""
        number = len(self.points.counts[points])
        filled = np.empty((self.dimensions, number))
        for i in range(self.dimensions):
            filled[i] = self.along(i, points)
        return filled

    def along(self, dimension: int, points: NDArray[np.integer[Any]] | slice = slice(None)) -> NDArray[np.float64]:
        """One coordinate of some points, or of all."""
        column, table = self.tables[dimension]
        positions_along: NDArray[np.float64] = table[self.points.codes[column][points]]
        return positions_along


def coordinates(points: Points) -> NDArray[np.float64]:
    """Shape (points, dimensions): the coordinates of all points, see `Space`."""
    return Space.of(points).at().T


def unit_range(positions: NDArray[np.float64], records: NDArray[np.float64]) -> NDArray[np.float64]:
    """The positions, moved and scaled: those that occur lie between 0 and 1, any other becomes 0 or 1.

    Scaling by powers of two first is exact, and no difference overflows afterwards.
    """
    occurring = positions[records > 0]
    assert np.isfinite(occurring).all(), "values without a position were refused"
    least, largest = occurring.min(), occurring.max()
    exponent = np.frexp(max(abs(least), abs(largest)))[1]
    scaled = np.ldexp(np.clip(positions, least, largest), -exponent)
    scaled -= np.ldexp(least, -exponent)
    width = np.ldexp(largest, -exponent) - np.ldexp(least, -exponent)
    scaled_points: NDArray[np.float64] = scaled / (width or 1.0)
    return scaled_points


def _embedded(levels: AttributeLevels, records: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Coordinates in which the squared distance of two values is (L / top)^2, with L their lowest common level.

    Two values are in different groups of the levels below L, and in one group at all others. So a coordinate per level
    and group, 0 or w, with 2 w^2 = ((l + 1)^2 - l^2) / top^2, gives the sum of these differences of squares.
    """
    axes: list[NDArray[np.float64]] = []
    rest: list[NDArray[np.float64]] = []
    random = np.random.default_rng(_SEED)
    for level in reversed(range(levels.top)):
        groups = levels.groups[level]
        weight = math.sqrt((2 * level + 1) / 2) / levels.top
        occurring = np.flatnonzero(np.bincount(groups, records))
        if not rest and len(axes) + len(occurring) <= MOST_INDICATORS:
            axes += [weight * (groups == group) for group in occurring]
        else:
            places = random.normal(size=(PROJECTED, int(groups.max()) + 1))
            rest.append(weight / math.sqrt(PROJECTED) * places[:, groups])
    return [*axes, *np.sum(rest, axis=0)] if rest else axes


def _standardized(tables: list[NDArray[np.float64]], records: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The coordinates of one column with mean 0 and total variance 1, without those that are constant."""
    total = records.sum()
    centered = [table - records @ table / total for table in tables if np.ptp(table[records > 0]) > 0]
    variance = sum(records @ table**2 for table in centered) / total
    return [table / math.sqrt(variance) for table in centered]


def _summable(table: NDArray[np.float64], records: NDArray[np.float64]) -> NDArray[np.float64]:
    """The coordinate rounded to a multiple of a power of two, small enough that no sum over records needs rounding.

    A sum has fewer than 2^53 of these units in all. With a million records one unit is 10^-10 standard deviations or
    less.
    """
    unit = math.ldexp(1.0, math.frexp(records @ np.abs(table))[1] - 52)
    rounded: NDArray[np.float64] = np.rint(table / unit) * unit
    return rounded
