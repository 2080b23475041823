"""The squared error against its definition by distances between records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.aggregation import Points, SparseClusters
from tableveil.microaggregation import squared_error
from tests.engine.microaggregation.tables import tables


def pairwise(points: Points, column: int, records: list[int]) -> float:
    """Half the mean squared distance between records, times their number: the squared distances to the centroid."""
    of = points.columns[column]
    codes = points.codes[column]

    def distance(a: int, b: int) -> float:
        a, b = int(codes[a]), int(codes[b])
        if of.levels is None:
            # Neither do the largest overflow, nor the smallest vanish.
            positions = of.positions * (0.5 if np.abs(of.positions).max() > 1.0 else 2.0**100)
            width = np.ptp(positions[codes])
            return float((positions[a] - positions[b]) / width) if width else 0.0
        return next(level for level, groups in enumerate(of.levels.groups) if groups[a] == groups[b]) / of.levels.top

    return sum(distance(a, b) ** 2 for a in records for b in records) / (2 * len(records))


@given(points=tables(most_points=6), data=st.data())
def test_is_what_is_left_of_all_squared_distances(points: Points, data: st.DataObject) -> None:
    records = np.repeat(np.arange(len(points.counts)), points.counts)
    drawn = data.draw(st.lists(st.integers(0, 2), min_size=len(records), max_size=len(records)))
    number = np.unique(drawn, return_inverse=True)[1]
    clusters = SparseClusters.of(records, number, np.ones(len(records), np.int64))
    members = [records[number == i].tolist() for i in range(clusters.number)]

    found = squared_error(points, clusters)

    shares, weights = [], []
    for column, of in enumerate(points.columns):
        whole = pairwise(points, column, records.tolist())
        within = sum(pairwise(points, column, some) for some in members)
        # Positions that differ by less than a power of two can represent have no distance.
        shares.append(within / whole if whole > 1e-300 else 0.0)
        weights.append(of.weight / max(max(c.weight for c in points.columns), 1e-9) if whole > 1e-300 else 0.0)
    assert found.columns == pytest.approx(np.array(shares), abs=1e-9)
    assert found.total == pytest.approx(np.dot(shares, weights) / (sum(weights) or 1.0), abs=1e-9)


@given(points=tables())
def test_one_cluster_keeps_all_and_a_cluster_per_point_none(points: Points) -> None:
    number = np.arange(len(points.counts))
    all_together = squared_error(points, SparseClusters.of(number, np.zeros_like(number), points.counts))
    alone = squared_error(points, SparseClusters.of(number, number, points.counts))

    assert set(all_together.columns.tolist()) <= {0.0, 1.0}
    assert all_together.total in (0.0, pytest.approx(1.0))
    assert alone.columns == pytest.approx(0.0, abs=1e-30)
    assert alone.total == pytest.approx(0.0, abs=1e-30)
