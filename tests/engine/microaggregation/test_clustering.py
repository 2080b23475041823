"""Clusters against plain transcriptions of the methods, on small random tables."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.aggregation import Points, SparseClusters
from tableveil.aggregation.coordinates import Space
from tableveil.control import Control, Stopped
from tableveil.errors import InfeasibleError
from tableveil.microaggregation import cluster
from tableveil.microaggregation import clustering as module
from tableveil.microaggregation.partition import partition
from tableveil.microaggregation.remaining import Forming
from tableveil.policy.methods.microaggregation import Clustering, Microaggregation
from tests.engine.microaggregation import plain
from tests.engine.microaggregation.tables import (
    as_records,
    coordinates_of_records,
    levels_of,
    nominal,
    numeric,
    record_by_record,
    tables,
)

METHODS = [Clustering.MDAV, Clustering.V_MDAV, Clustering.PARTITION]
KS = st.integers(1, 6)


def options(clustering: Clustering, gain: str = "0.2") -> Microaggregation:
    return Microaggregation(clustering, gain=Decimal(gain))


def feasible(points: Points, k: int) -> int:
    return min(k, int(points.counts.sum()))


def clusters_by(points: Points, k: int, how: Microaggregation) -> SparseClusters:
    return cluster(points, k, how, Control()).clusters


def in_small_blocks(points: Points, k: int) -> SparseClusters:
    """Final blocks have room for at least 20 clusters, so that there are several only if k is small."""
    forming = Forming()
    partition(Space.of(points), k, forming, Control(), largest=1)
    return forming.clusters()


def grid(side: int) -> Points:
    """All points with two whole coordinates, with repeating weights: full of ties."""
    codes = tuple(of.ravel().astype(np.int32) for of in np.indices((side, side)))
    counts = 1 + (codes[0] * 3 + codes[1]) % 4
    columns = (numeric(np.arange(side, dtype=float).tolist()), numeric((np.arange(side) ** 2.0).tolist()))
    return Points(columns, codes, counts.astype(np.int64))


def records_of(points: Points, clusters: SparseClusters) -> list[list[int]]:
    """Clusters with records by their number instead of their point: copies of a point follow each other."""
    return [sorted(found) for found in as_records(points, clusters)]


def same_values(points: Points, found: list[list[int]]) -> list[list[int]]:
    """The records of plain transcriptions as points."""
    of = np.repeat(np.arange(len(points.counts)), points.counts)
    return [sorted(int(of[i]) for i in of_cluster) for of_cluster in found]


@given(points=tables(), k=KS)
def test_mdav_is_the_published_one_on_repeated_rows(points: Points, k: int) -> None:
    k = feasible(points, k)
    places = [tuple(place) for place in coordinates_of_records(points).tolist()]

    found = records_of(points, clusters_by(points, k, options(Clustering.MDAV)))

    assert found == same_values(points, plain.mdav(places, k))
    assert all(len(of_cluster) == k for of_cluster in found[:-1])
    assert k <= len(found[-1]) < 2 * k


@given(points=tables(), k=KS, gain=st.sampled_from(["0", "0.2", "1", "1.1", "5"]))
def test_v_mdav_is_the_published_one_on_repeated_rows(points: Points, k: int, gain: str) -> None:
    k = feasible(points, k)
    places = [tuple(place) for place in coordinates_of_records(points).tolist()]

    found = records_of(points, clusters_by(points, k, options(Clustering.V_MDAV, gain)))

    assert found == same_values(points, plain.v_mdav(places, k, float(gain)))
    assert all(k <= len(of_cluster) for of_cluster in found)
    assert sum(max(0, len(of_cluster) - (2 * k - 1)) for of_cluster in found) < k


@pytest.mark.parametrize("k", [1, 2, 3])
def test_partition_of_a_table_with_ties_is_that_of_repeated_rows(k: int) -> None:
    points = grid(12)
    rows = record_by_record(points)
    of = np.repeat(np.arange(len(points.counts)), points.counts)

    found = records_of(points, in_small_blocks(points, k))

    assert found == [sorted(int(of[i]) for i in cluster) for cluster in as_records(rows, in_small_blocks(rows, k))]
    assert all(k <= len(of_cluster) < 2 * k for of_cluster in found)
    # Only the end of the whole table is no multiple of k.
    assert sum(len(of_cluster) > k for of_cluster in found) <= 1


@given(points=tables(most_points=40), k=st.integers(1, 2))
def test_partition_of_any_table_is_that_of_repeated_rows(points: Points, k: int) -> None:
    k = feasible(points, k)
    rows = record_by_record(points)
    of = np.repeat(np.arange(len(points.counts)), points.counts)

    found = records_of(points, in_small_blocks(points, k))

    assert found == [sorted(int(of[i]) for i in cluster) for cluster in as_records(rows, in_small_blocks(rows, k))]
    assert all(k <= len(of_cluster) < 2 * k for of_cluster in found)


@pytest.mark.parametrize("k", [2, 5])
def test_partition_stays_near_mdav(k: int) -> None:
    """Skewed data too, whose few records far out make most of the error."""
    random = np.random.default_rng(1)
    for data in (random.normal(size=(2_000, 3)), np.exp(random.normal(size=(2_000, 2)))):
        columns = tuple(numeric(sorted(data[:, j].tolist())) for j in range(data.shape[1]))
        codes = tuple(data[:, j].argsort().argsort().astype(np.int32) for j in range(data.shape[1]))
        points = Points(columns, codes, np.ones(len(data), np.int64))
        places = [tuple(place) for place in coordinates_of_records(points).tolist()]
        forming = Forming()
        partition(Space.of(points), k, forming, Control(), largest=500)

        whole = plain.error(places, as_records(points, clusters_by(points, k, options(Clustering.MDAV))))
        assert plain.error(places, as_records(points, forming.clusters())) < 1.08 * whole


@pytest.mark.parametrize("method", METHODS)
def test_one_cluster_of_all_if_there_are_fewer_than_2k(method: Clustering) -> None:
    points = replace(grid(2), counts=np.array([1, 2, 1, 3]))

    for k in (4, 7):
        found = cluster(points, k, options(method), Control())
        assert found.clusters.sizes.tolist() == [7]
        assert found.optimal


@pytest.mark.parametrize("method", [*METHODS, Clustering.AUTO])
def test_fewer_than_k_records_are_refused(method: Clustering) -> None:
    points = replace(grid(2), counts=np.array([1, 2, 1, 3]))

    with pytest.raises(InfeasibleError, match="clusters of at least 8 records asked of 7 records; expected at most 7"):
        cluster(points, 8, options(method), Control())


@pytest.mark.parametrize("method", METHODS)
def test_constant_columns_are_clustered_all_the_same(method: Clustering) -> None:
    points = Points(
        (numeric([3.0]), numeric([1.0, 2.0], weight=0.0)), (np.zeros(2, np.int32), np.arange(2)), np.array([40, 83])
    )

    sizes = clusters_by(points, 2, options(method)).sizes

    assert sizes.sum() == 123
    assert sizes.min() >= 2


def test_auto_takes_what_fits_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Points((numeric([1.0, 2.0, 5.0]),), (np.arange(3, dtype=np.int32),), np.array([3, 3, 3]))
    by_labels = Points((nominal(levels_of([[0, 1, 1]])),), (np.arange(3, dtype=np.int32),), np.array([3, 3, 3]))

    def account(points: Points) -> str:
        return cluster(points, 2, Microaggregation(), Control()).account

    assert account(one) == "UNIVARIATE because it is optimal for one column"
    few = "MDAV because {} combinations of values are few enough to compare all with each other"
    assert account(by_labels) == few.format("9 records with 3")
    assert account(grid(4)) == few.format("40 records with 16")
    monkeypatch.setattr(module, "MOST_STEPS", 40 // 2 * 16 * 2 - 1)
    many = "PARTITION because 40 records with 16 combinations of values are too many to compare all with each other"
    assert account(grid(4)) == many
    assert cluster(one, 2, options(Clustering.MDAV), Control()).account == "MDAV because the policy says so"


@pytest.mark.parametrize("method", [*METHODS, Clustering.UNIVARIATE])
def test_tells_how_far_it_is_and_stops_when_told(method: Clustering) -> None:
    points = grid(12)
    if method is Clustering.UNIVARIATE:
        points = Points((numeric([1.0, 2.0, 5.0]),), (np.arange(3, dtype=np.int32),), np.array([3, 3, 3]))
    records = int(points.counts.sum())
    told: list[tuple[int, int]] = []
    stopped = Control()
    stopped.cancel()

    cluster(points, 2, options(method), Control(), lambda done, of: told.append((done, of)))

    assert told[-1] == (records, records)
    assert told == sorted(told)
    with pytest.raises(Stopped):
        cluster(points, 2, options(method), stopped)


@pytest.mark.parametrize("position", [math.nan, math.inf])
def test_what_has_no_position_was_refused_before(position: float) -> None:
    points = Points((numeric([1.0, position]),), (np.arange(2, dtype=np.int32),), np.array([3, 3]))

    for method in (Clustering.AUTO, Clustering.MDAV):
        with pytest.raises(AssertionError, match="without a position"):
            cluster(points, 2, options(method), Control())
