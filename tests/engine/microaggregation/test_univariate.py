"""Optimal clusters of one column against all possible ones."""

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.aggregation import Points
from tableveil.control import Control
from tableveil.microaggregation import cluster
from tableveil.microaggregation.univariate import univariate
from tableveil.policy.methods.microaggregation import Clustering, Microaggregation
from tests.engine.microaggregation.tables import POSITIONS, as_records, numeric, record_by_record

UNIVARIATE = Microaggregation(Clustering.UNIVARIATE)


def exact_error(values: list[Fraction]) -> Fraction:
    return sum((value**2 for value in values), Fraction(0)) - sum(values, Fraction(0)) ** 2 / len(values)


def least_error(values: list[Fraction], k: int) -> Fraction:
    """The minimum over all ways to cut the sorted values into clusters of any size."""
    values = sorted(values)
    sums = [Fraction(0), *accumulate(values)]
    squares = [Fraction(0), *accumulate(value**2 for value in values)]
    least: list[Fraction | None] = [Fraction(0)]
    for end in range(1, len(values) + 1):
        found = [
            before + (squares[end] - squares[start]) - (sums[end] - sums[start]) ** 2 / (end - start)
            for start, before in enumerate(least[: max(end - k + 1, 0)])
            if before is not None
        ]
        least.append(min(found, default=None))
    assert least[-1] is not None
    return least[-1]


@st.composite
def columns(draw: st.DrawFn, positions: st.SearchStrategy[float] = POSITIONS, most_records: int = 4) -> Points:
    values = sorted(draw(st.sets(positions, min_size=1, max_size=5)))
    counts = draw(st.lists(st.integers(1, most_records), min_size=len(values), max_size=len(values)))
    return Points((numeric(values),), (np.arange(len(values), dtype=np.int32),), np.array(counts))


@given(points=columns(), k=st.integers(1, 5))
def test_no_clusters_have_a_lower_error(points: Points, k: int) -> None:
    k = min(k, int(points.counts.sum()))
    values = [Fraction(value) for value in points.columns[0].positions.tolist()]

    found = cluster(points, k, UNIVARIATE, Control())

    clusters = [[values[i] for i in of] for of in as_records(points, found.clusters)]
    least = least_error([value for of in clusters for value in of], k)
    assert found.optimal
    assert all(k <= len(of) < 2 * k for of in clusters)
    whole = exact_error([value for of in clusters for value in of])
    assert sum(map(exact_error, clusters)) - least <= whole * Fraction(1, 10**14)


@given(points=columns(st.integers(-9, 9).map(float), most_records=60), k=st.integers(1, 6))
def test_weights_are_repeated_rows(points: Points, k: int) -> None:
    """Even where a value has so many records that most of them are left out of the path."""
    k = min(k, int(points.counts.sum()))
    rows = record_by_record(points)
    of = np.repeat(np.arange(len(points.counts)), points.counts)

    found = as_records(points, cluster(points, k, UNIVARIATE, Control()).clusters)

    by_rows = as_records(rows, cluster(rows, k, UNIVARIATE, Control()).clusters)
    assert found == [[int(of[i]) for i in cluster] for cluster in by_rows]


@given(points=columns(st.integers(-9, 9).map(float), most_records=30), k=st.integers(1, 3))
def test_what_is_left_out_of_the_path_lowers_no_error(points: Points, k: int) -> None:
    """From 6k records of a value on."""
    k = min(k, int(points.counts.sum()))
    values = [Fraction(value) for value in points.columns[0].positions.tolist()]

    found = univariate(points.columns[0].positions, points.counts, k, Control())

    clusters = [[values[i] for i in of] for of in as_records(points, found)]
    least = least_error([value for of in clusters for value in of], k)
    assert float(sum(map(exact_error, clusters))) == pytest.approx(float(least))


def test_close_values_far_from_others_are_told_apart() -> None:
    """Sums of squares would have lost their digits."""
    near = [1e9 + i * 1e-6 for i in (0, 1, 2, 10, 11, 12, 30, 31, 32)]
    values = np.array([-1e9] * 3 + near)

    found = univariate(values, np.ones(len(values), np.int64), 3, Control())

    assert found.clusters.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_a_long_path_is_found_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.sort(np.random.default_rng(1).normal(size=500))
    whole = univariate(values, np.ones(500, np.int64), 3, Control())

    monkeypatch.setattr("tableveil.microaggregation.univariate._ENTRIES", 20)

    pieces = univariate(values, np.ones(500, np.int64), 3, Control())
    assert pieces.clusters.tolist() == whole.clusters.tolist()
