"""Small random tables of aggregated columns, and the same tables with a point per record."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.aggregation import AggregatedColumn, Points, SparseClusters
from tableveil.aggregation.coordinates import Space
from tableveil.hierarchy import AttributeLevels
from tableveil.policy import AggregateFunction, Aggregation, Scale

POSITIONS = st.one_of(
    st.integers(-4, 4).map(float),
    st.floats(-1e6, 1e6, allow_nan=False),
    st.sampled_from([0.0, 5e-324, -1e-300, 1e300, -1e300, 1e15, 1e15 + 1, 1e15 + 2, 1.7e308, -1.7e308]),
)


def numeric(positions: Sequence[float], weight: float = 1.0) -> AggregatedColumn:
    """Each position occurs once; clusters are not formed by `counts`."""
    return AggregatedColumn("x", Aggregation(), np.ones(len(positions), np.int64), np.array(positions), weight=weight)


def levels_of(groups: Sequence[Sequence[int]]) -> AttributeLevels:
    """Level 0 and the top are added; no labels."""
    codes = len(groups[0]) if groups else 1
    arrays = [np.arange(codes), *map(np.array, groups), np.zeros(codes)]
    return AttributeLevels(tuple(a.astype(np.int32) for a in arrays), (), (), float(codes), False, None)


def nominal(levels: AttributeLevels, weight: float = 1.0) -> AggregatedColumn:
    codes = len(levels.groups[0])
    aggregation = Aggregation(AggregateFunction.MODE, Scale.NOMINAL)
    ranks = np.arange(codes, dtype=np.float64)
    return AggregatedColumn("x", aggregation, np.ones(codes, np.int64), ranks, levels, weight=weight)


@st.composite
def hierarchies(draw: st.DrawFn, most_codes: int = 6) -> AttributeLevels:
    """Nested groups in up to four levels."""
    codes = draw(st.integers(1, most_codes))
    groups: list[list[int]] = []
    below, number = list(range(codes)), codes
    for _ in range(draw(st.integers(0, 2))):
        joined = draw(st.lists(st.integers(0, number - 1), min_size=number, max_size=number))
        names = {group: i for i, group in enumerate(sorted(set(joined)))}
        below, number = [names[joined[group]] for group in below], len(names)
        groups.append(below)
    return levels_of(groups or [list(range(codes))])


@st.composite
def tables(draw: st.DrawFn, most_points: int = 12, scales: str = "numeric nominal", most_columns: int = 3) -> Points:
    """Distinct points, each with a few records; constant columns, ties and extreme scales among them."""
    columns = []
    for _ in range(draw(st.integers(1, most_columns))):
        weight = draw(st.sampled_from([1.0, 1.0, 0.5, 3.0, 0.0, 1e308]))
        if draw(st.sampled_from(scales.split())) == "numeric":
            columns.append(numeric(sorted(draw(st.sets(POSITIONS, min_size=1, max_size=6))), weight))
        else:
            columns.append(nominal(draw(hierarchies()), weight))
    codes = st.tuples(*(st.integers(0, len(column.counts) - 1) for column in columns))
    chosen = sorted(draw(st.sets(codes, min_size=1, max_size=most_points)))
    counts = draw(st.lists(st.integers(1, 4), min_size=len(chosen), max_size=len(chosen)))
    by_column = tuple(np.array(of, np.int32) for of in zip(*chosen, strict=True))
    return Points(tuple(columns), by_column, np.array(counts, np.int64))


def record_by_record(points: Points) -> Points:
    """The points with one record each."""
    codes = tuple(np.repeat(of, points.counts) for of in points.codes)
    return replace(points, codes=codes, counts=np.ones(int(points.counts.sum()), np.int64))


def as_records(points: Points, clusters: SparseClusters) -> list[list[int]]:
    """Per cluster the points of its records, in order, a point as often as it has records there."""
    found: list[list[int]] = [[] for _ in range(clusters.number)]
    for point, cluster, count in zip(clusters.points, clusters.clusters, clusters.counts, strict=True):
        found[cluster] += [int(point)] * int(count)
    assert (
        sorted(point for cluster in found for point in cluster)
        == np.repeat(np.arange(len(points.counts)), points.counts).tolist()
    )
    return found


def coordinates_of_records(points: Points) -> NDArray[np.float64]:
    """Shape (records, dimensions)."""
    return np.repeat(Space.of(points).at().T, points.counts, axis=0)
