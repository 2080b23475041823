"""By any method, the result is a partition of all records that every privacy model releases."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.aggregation.coordinates import Clustered, Space, SparseClusters
from tableveil.control import Control, Stopped
from tableveil.errors import Change, InfeasibleError
from tableveil.microaggregation.classes import cluster_classes, column_values
from tableveil.microaggregation.closeness.merge import merge_until_close, merge_until_released
from tableveil.microaggregation.closeness.merging import Merging
from tableveil.microaggregation.closeness.nearest import RECENT, Nearest
from tableveil.microaggregation.closeness.targets import targets_of
from tableveil.microaggregation.solve import ClusterProblem, counter_of, solve
from tableveil.policy import (
    AbsentValues,
    BetaLikeness,
    DeltaDisclosure,
    Distance,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    Policy,
    PrivacyModel,
    ProbabilisticLDiversity,
    RecursiveCLDiversity,
    ReleaseTarget,
    TableReference,
    TCloseness,
)
from tableveil.policy.methods.microaggregation import ClosenessAlgorithm, Microaggregation
from tableveil.privacy import privacy_of
from tests.engine.microaggregation.sensitive_tables import Table, as_sets, distinct_table, tables
from tests.engine.privacy.test_distances import Sample, defined
from tests.engine.search.changes import stricter, with_changes

ALGORITHMS = list(ClosenessAlgorithm)


def solved(
    table: Table, k: int, models: list[PrivacyModel], algorithm: ClosenessAlgorithm = ClosenessAlgorithm.MERGE
) -> Clustered:
    options = Microaggregation(closeness=algorithm)
    return solve(ClusterProblem(table.points, k, table.sensitive, [KAnonymity(k), *models]), options, Control())


def farthest(table: Table, clusters: SparseClusters, column: int, distance: Distance) -> Fraction:
    """The greatest distance of a cluster from all records, by the definition."""
    sample = Sample(table.sensitive[column], ())
    return max(defined(sample, distance, own, sample.whole) for own in table.spread(clusters, column))


@given(
    tables(columns=2),
    st.integers(1, 6),
    st.sampled_from(["0", "0.1", "0.25", "0.5"]),
    st.sampled_from(["0.05", "0.3"]),
    st.tuples(st.sampled_from(Distance), st.sampled_from(Distance)),
    st.sampled_from(ALGORITHMS),
)
def test_clusters_are_k_anonymous_and_t_close(
    table: Table, k: int, t: str, other: str, distances: tuple[Distance, Distance], algorithm: ClosenessAlgorithm
) -> None:
    """Ties, constant columns, NULL, rows of several records, two sensitive columns, few records, t = 0."""
    k = min(k, table.records)
    models = [TCloseness("s0", Decimal(t), distances[0]), TCloseness("s1", Decimal(other), distances[1])]

    found = solved(table, k, [*models], algorithm)

    assert table.is_partition(found.clusters)
    assert (found.clusters.sizes >= k).all()
    assert farthest(table, found.clusters, 0, distances[0]) <= Fraction(t)
    assert farthest(table, found.clusters, 1, distances[1]) <= Fraction(other)
    again = solved(table, k, [*models], algorithm)
    assert as_sets(again.clusters) == as_sets(found.clusters)
    assert again.account == found.account


@given(tables(), st.integers(1, 4), st.sampled_from(["0", "0.2"]), st.sampled_from(ALGORITHMS))
def test_weights_are_repeated_rows(table: Table, k: int, t: str, algorithm: ClosenessAlgorithm) -> None:
    """In the clusters of either table, k and t hold; a row's records may be in several clusters."""
    k = min(k, table.records)
    model = TCloseness("s0", Decimal(t), Distance.ORDERED)

    weighted, repeated = solved(table, k, [model], algorithm), solved(table.repeated, k, [model], algorithm)

    row = np.repeat(np.arange(len(table.counts)), table.counts)
    same = SparseClusters.of(row[repeated.clusters.points], repeated.clusters.clusters, repeated.clusters.counts)
    assert as_sets(weighted.clusters) == as_sets(same)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_constant_column_costs_nothing(algorithm: ClosenessAlgorithm) -> None:
    varied = distinct_table(1, 30)
    table = Table(varied.rows, ((0,) * 30,), varied.counts)

    found = solved(table, 3, [TCloseness("s0", Decimal(0), Distance.ORDERED)], algorithm)

    assert found.merged == 0
    assert found.clusters.number == 10


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_exactly_everybody_takes_everybody(algorithm: ClosenessAlgorithm) -> None:
    """If all values differ, only all records together are at distance 0."""
    found = solved(distinct_table(2, 21), 2, [TCloseness("s0", Decimal(0), Distance.EQUAL)], algorithm)

    assert found.clusters.number == 1


def test_strata_need_no_merging_and_bring_small_clusters() -> None:
    """All values differ, in a column that depends strongly on the quasi-identifiers."""
    table = distinct_table(3, 120, 2, 0.9)
    model = TCloseness("s0", Decimal("0.1"), Distance.ORDERED)
    found = {algorithm: solved(table, 2, [model], algorithm) for algorithm in ALGORITHMS}

    assert found[ClosenessAlgorithm.T_CLOSENESS_FIRST].merged == 0
    assert found[ClosenessAlgorithm.T_CLOSENESS_FIRST].clusters.number == 120 // 5
    assert found[ClosenessAlgorithm.MERGE].merged > 0
    largest = {algorithm: int(clustered.clusters.sizes.max()) for algorithm, clustered in found.items()}
    assert max(largest, key=lambda algorithm: largest[algorithm]) is ClosenessAlgorithm.MERGE


DIVERSE: list[PrivacyModel] = [
    DistinctLDiversity("s0", 2),
    ProbabilisticLDiversity("s0", Decimal("1.5")),
    EntropyLDiversity("s0", Decimal("1.7")),
    RecursiveCLDiversity("s0", Decimal(3), 2),
    DeltaDisclosure("s0", Decimal("1.5")),
    DeltaDisclosure("s0", Decimal("1.5"), AbsentValues.IGNORE),
    BetaLikeness("s0", Decimal("0.5")),
]


HARD: list[PrivacyModel] = [
    DistinctLDiversity("s0", 4),
    ProbabilisticLDiversity("s1", Decimal(3)),
    EntropyLDiversity("s0", Decimal("2.5")),
    RecursiveCLDiversity("s1", Decimal("0.5"), 4),
    TCloseness("s0", Decimal(0), Distance.EQUAL),
]


@given(tables(), st.sampled_from(DIVERSE), st.integers(1, 3))
def test_other_models_are_met_or_nothing_meets_them(table: Table, model: PrivacyModel, k: int) -> None:
    """The rule itself judges the clusters; infeasible means only that all records together do not meet it."""
    k = min(k, table.records)
    rule = privacy_of([model], counter_of(table.points, table.sensitive))
    rows = np.arange(len(table.counts))
    together = SparseClusters(rows, np.zeros_like(rows), table.points.counts)
    possible = rule.releasable(cluster_classes(table.points, together, table.sensitive)).all()
    if not possible:
        with pytest.raises(InfeasibleError) as raised:
            solved(table, k, [model])
        assert raised.value.faults[0].field == "privacy_models[1]"
        assert str(model) in raised.value.faults[0].found
        return

    found = solved(table, k, [model])

    assert table.is_partition(found.clusters)
    assert (found.clusters.sizes >= k).all()
    assert rule.releasable(cluster_classes(table.points, found.clusters, table.sensitive)).all()


def test_diversity_is_what_its_definition_says() -> None:
    """By counting values, without the rule: many of one value in one place, so that clusters must be merged."""
    rows = tuple((float(i),) for i in range(40))
    table = Table(rows, ((0,) * 15 + (1, 2) * 5 + (1,) * 15,), (1,) * 40)

    distinct = solved(table, 3, [DistinctLDiversity("s0", 2)])
    entropy = solved(table, 3, [EntropyLDiversity("s0", Decimal("1.5"))])

    assert distinct.merged > 0
    assert 1 < entropy.clusters.number <= distinct.clusters.number
    assert all(sum(count > 0 for count in own) >= 2 for own in table.spread(distinct.clusters, 0))
    for own in table.spread(entropy.clusters, 0):
        shares = [count / sum(own) for count in own if count]
        assert -sum(share * log(share) for share in shares) >= log(1.5)


def test_t_closeness_and_diversity_hold_together() -> None:
    table = distinct_table(4, 60)
    coarse = Table(table.rows, (tuple(code // 15 for code in table.codes[0]),), table.counts)
    models: list[PrivacyModel] = [TCloseness("s0", Decimal("0.3"), Distance.EQUAL), DistinctLDiversity("s0", 4)]
    for algorithm in ALGORITHMS:
        found = solved(coarse, 4, models, algorithm)
        assert farthest(coarse, found.clusters, 0, Distance.EQUAL) <= Fraction(3, 10)
        assert all(min(own) > 0 for own in coarse.spread(found.clusters, 0))


def test_too_few_records_are_told_the_k_that_would_do() -> None:
    for algorithm in ALGORITHMS:
        with pytest.raises(InfeasibleError) as raised:
            solved(distinct_table(1, 4), 5, [TCloseness("s0", Decimal("0.5"))], algorithm)
        (fault,) = raised.value.faults
        assert fault.field == "privacy_models[0]"
        assert fault.hint == "Feasible would be k = 4."


@given(tables(2), st.lists(st.sampled_from(HARD), min_size=2, max_size=2, unique_by=type), st.integers(1, 20))
def test_what_is_said_to_be_feasible_is_and_nothing_stricter(table: Table, models: list[PrivacyModel], k: int) -> None:
    asked = Policy(TableReference("", "main", "t"), (), None, (KAnonymity(k), *models), ReleaseTarget("main", "r"))

    def feasible(changes: Sequence[Change]) -> bool:
        own, *others = with_changes(asked, changes).privacy_models
        assert isinstance(own, KAnonymity)
        try:
            solved(table, own.k, others)
        except InfeasibleError:
            return False
        return True

    if feasible(()):
        return
    with pytest.raises(InfeasibleError) as raised:
        solved(table, k, models)
    error = raised.value
    assert (error.code == "TOO_FEW_RECORDS") == (table.records < k)
    for relaxation in error.relaxations:
        assert relaxation.nearest
        assert feasible(relaxation.changes)
        for change in relaxation.changes:
            others = [other for other in relaxation.changes if other != change]
            smaller = stricter(asked, change)
            assert not feasible(others if smaller is None else [*others, Change(change.field, smaller)])
    assert all(fault.hint.startswith("Feasible would be") for fault in error.faults) == bool(error.relaxations)


def test_no_merge_makes_more_clusters_violate() -> None:
    """Checked after every merge: a failing cluster is gone, and at most the merged one fails."""
    table = distinct_table(6, 200, 2, 0.8)
    rule = privacy_of([TCloseness("s0", Decimal("0.05"), Distance.ORDERED)], counter_of(table.points, table.sensitive))

    class Watched(Merging):
        failing: list[int] = []  # noqa: RUF012 - of one test

        def merge(self, number: int) -> tuple[int, int]:
            merged = super().merge(number)
            self.failing.append(int((~rule.releasable(self.classes(self.numbers))).sum()))
            return merged

    order = np.argsort([row[0] for row in table.rows])
    before = SparseClusters.of(order, np.arange(200) // 2, np.ones(200, np.int64))
    for loop in ("published", "rounds"):
        merging = Watched(Space.of(table.points), before, cluster_classes(table.points, before, table.sensitive))
        merging.failing = []
        if loop == "published":
            model = TCloseness("s0", Decimal("0.05"), Distance.ORDERED)
            merge_until_close(merging, targets_of([model], table.sensitive), Control())
        else:
            assert merge_until_released(merging, rule, Control())
        assert len(merging.failing) == merging.merged > 50
        assert merging.failing == sorted(merging.failing, reverse=True)
        assert merging.failing[-1] == 0


def test_the_nearest_is_found_whatever_came_and_went() -> None:
    """Against looking at all places; many more are added than the tree is built for."""
    random = np.random.default_rng(7)
    known = Nearest(random.normal(size=(1500, 3)))
    for step in range(1400):
        place = random.normal(size=3)
        there = np.flatnonzero(known.there)
        if step % 50 == 0 or step == RECENT + 1:
            expected = there[np.square(known.places[there] - place).sum(axis=1).argmin()]
            assert known.nearest(place) == expected
        known.go(known.nearest(place))
        known.go(known.nearest(place))
        if step % 700 < 690:
            known.come(place)
        if known.there.sum() < 10:
            break


def test_values_of_an_aggregated_column_are_counted_per_cluster() -> None:
    table = Table(((1.0,), (2.0,), (5.0,)), ((0, 0, 0),), (2, 1, 3))
    clusters = SparseClusters.of(np.array([0, 1, 0, 2]), np.array([0, 0, 1, 1]), np.array([1, 1, 1, 3]))

    values = column_values(table.points, clusters, 0)

    found = list(zip(values.classes.tolist(), values.values.tolist(), values.counts.tolist(), strict=True))
    assert found == [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 2, 3)]


def test_work_stops_when_it_is_told_to() -> None:
    control = Control()
    control.cancel()
    for algorithm in ALGORITHMS:
        with pytest.raises(Stopped):
            solve(
                ClusterProblem(
                    distinct_table(1, 50).points,
                    2,
                    distinct_table(1, 50).sensitive,
                    [KAnonymity(2), TCloseness("s0", Decimal("0.1"), Distance.ORDERED)],
                ),
                Microaggregation(closeness=algorithm),
                control,
            )
