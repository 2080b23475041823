"""The three algorithms of Soria-Comas et al. 2015 form the clusters that plain transcriptions of them form."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.aggregation.coordinates import Space, SparseClusters, coordinates
from tableveil.control import Control
from tableveil.microaggregation.classes import cluster_classes
from tableveil.microaggregation.closeness import k_anonymity_first as swapping
from tableveil.microaggregation.closeness import t_closeness_first as stratifying
from tableveil.microaggregation.closeness.k_anonymity_first import k_anonymity_first
from tableveil.microaggregation.closeness.merge import merge_until_close
from tableveil.microaggregation.closeness.merging import Merging
from tableveil.microaggregation.closeness.strata import Strata
from tableveil.microaggregation.closeness.t_closeness_first import size_for, t_closeness_first
from tableveil.microaggregation.closeness.targets import ClosenessTarget, targets_of
from tableveil.policy import Distance, TCloseness
from tests.engine.microaggregation import published
from tests.engine.microaggregation.sensitive_tables import Table, as_sets, distinct_table, of_rows, tables

SHAPES = [(9, 2, "0.2"), (23, 2, "0.05"), (37, 3, "0.1"), (41, 4, "0.15"), (48, 5, "0.05"), (60, 2, "0.25")]


def target(table: Table, t: str, distance: Distance = Distance.ORDERED) -> tuple[ClosenessTarget, ...]:
    return targets_of([TCloseness("s0", Decimal(t), distance)], table.sensitive)


def distance_of(table: Table) -> Callable[[Sequence[int]], Fraction]:
    """The ordered distance of rows from all, where all have different values: those with ranks 0 to n - 1."""
    n, ranks = table.records, table.codes[0]

    @cache
    def ordered(members: tuple[int, ...]) -> Fraction:
        own, total = 0, 0
        occurring = {ranks[row] for row in members}
        for rank in range(n):
            own += rank in occurring
            total += abs(n * own - len(members) * (rank + 1))
        return Fraction(total, n * len(members) * (n - 1))

    return lambda members: ordered(tuple(sorted(members)))


def quiet(clustered: int, records: int) -> None:
    """Ignores progress."""


@pytest.mark.parametrize(("records", "k", "t"), SHAPES)
@pytest.mark.parametrize("correlation", [0.1, 0.9])
def test_swaps_are_those_of_k_anonymity_first(records: int, k: int, t: str, correlation: float) -> None:
    """With the least k at which clusters can be t-close; all records differ, so that there are no ties."""
    table = distinct_table(records, records, 2, correlation)
    (asked,) = target(table, t)
    least = max(k, asked.mover.smallest(asked.t))

    clusters = k_anonymity_first(Space.of(table.points), k, [asked], Control(), quiet)

    expected = published.k_anonymity_first(coordinates(table.points), least, distance_of(table), Fraction(t))
    assert as_sets(clusters) == of_rows(expected)


@pytest.mark.parametrize(("records", "k", "t"), SHAPES)
@pytest.mark.parametrize("correlation", [0.1, 0.9])
def test_strata_are_those_of_t_closeness_first(records: int, k: int, t: str, correlation: float) -> None:
    """The bound on the size makes every cluster t-close, without looking at any distance."""
    table = distinct_table(records + 1, records, 2, correlation)

    clusters = t_closeness_first(Space.of(table.points), k, target(table, t), Control(), quiet)

    ranked = np.argsort(table.codes[0]).tolist()
    expected = published.t_closeness_first(coordinates(table.points), ranked, k, Fraction(t))
    assert as_sets(clusters) == of_rows(expected)
    distance = distance_of(table)
    assert all(distance(cluster) <= Fraction(t) for cluster in expected)


@pytest.mark.parametrize(("records", "k", "t"), SHAPES)
@pytest.mark.parametrize("correlation", [0.1, 0.9])
def test_merges_are_those_of_the_published_loop(records: int, k: int, t: str, correlation: float) -> None:
    """From given clusters: each k consecutive rows by the first column."""
    table = distinct_table(records + 2, records, 2, correlation)
    order = np.argsort([row[0] for row in table.rows])
    before = SparseClusters.of(order, np.minimum(np.arange(records) // k, records // k - 1), np.ones(records, np.int64))
    merging = Merging(Space.of(table.points), before, cluster_classes(table.points, before, table.sensitive))

    merge_until_close(merging, target(table, t), Control())

    groups = [before.points[before.clusters == number].tolist() for number in range(before.number)]
    expected = published.merged(coordinates(table.points), groups, distance_of(table), Fraction(t))
    assert as_sets(merging.clusters()) == of_rows(expected)
    assert merging.merged == before.number - len(expected)


@given(st.integers(1, 60), st.integers(1, 60), st.fractions(0, 1))
def test_the_size_leaves_fewer_records_over_than_clusters(k: int, records: int, t: Fraction) -> None:
    size = size_for(min(k, records), t, records)
    clusters, over = divmod(records, size)

    assert min(k, records) <= size <= records
    assert over < clusters
    # One record of each of s equal parts of n ranks is at most so far away: if s divides n, the published bound holds.
    assert over or Fraction(records - size, 2 * max(records - 1, 1) * size) <= t


def test_the_size_for_the_adult_table_s_example() -> None:
    """30,162 records and t = 0.05 take at least 10 of them: 30,162 / 3,017.1 = 9.997."""
    assert size_for(2, Fraction(1, 20), 30_162) == 10


@given(tables(most=40), st.sampled_from([1, 2, 3, 7]), st.sampled_from(["0", "0.1", "0.3"]))
def test_blocks_lose_no_record(table: Table, k: int, t: str) -> None:
    """Large tables are split first; here small ones are, into blocks of hardly a cluster."""
    k = min(k, table.records)
    space = Space.of(table.points)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stratifying, "WHOLE", 0)
        patch.setattr(stratifying, "BLOCK", 5)
        patch.setattr(swapping, "WHOLE", 0)
        patch.setattr(swapping, "BLOCK", 5)
        patch.setattr(swapping, "CLUSTERS", 2)
        for form in (k_anonymity_first, t_closeness_first):
            clusters = form(space, k, target(table, t), Control(), quiet)
            assert table.is_partition(clusters)
            assert (clusters.sizes >= k).all()


def test_blocks_have_the_same_share_of_every_stratum() -> None:
    """So clusters in one block are as t-close as in another, though the blocks' records differ."""
    table = distinct_table(5, 403, 3, 0.9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stratifying, "WHOLE", 0)
        patch.setattr(stratifying, "BLOCK", 50)
        clusters = t_closeness_first(Space.of(table.points), 3, target(table, "0.1"), Control(), quiet)

    distance = distance_of(table)
    assert clusters.number == 403 // size_for(3, Fraction(1, 10), 403)
    for number in range(clusters.number):
        assert distance(clusters.points[clusters.clusters == number].tolist()) <= Fraction(1, 10)


@given(st.integers(1, 30), st.integers(1, 30))
def test_strata_hold_every_record_in_order(records: int, size: int) -> None:
    size = min(size, records)
    strata = Strata.of(np.arange(records), size)
    rows = [[*row, *strata.spare.get(i, [])] for i, row in enumerate(strata.grid.tolist())]

    assert [record for row in rows for record in row] == list(range(records))
    assert {len(row) for i, row in enumerate(rows) if i not in ((size - 1) // 2, size // 2)} <= {records // size}
