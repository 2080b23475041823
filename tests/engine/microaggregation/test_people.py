"""Clusters where people have several records: every promise counted in plain Python, over all worst cases."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import AggregatedColumn, Clustered, Points, Space, SparseClusters
from tableveil.classes import PersonValues, SensitiveColumn
from tableveil.control import Control
from tableveil.errors import InfeasibleError
from tableveil.microaggregation.classes import squared_error
from tableveil.microaggregation.clustering import cluster
from tableveil.microaggregation.mdav import mdav
from tableveil.microaggregation.remaining import Forming
from tableveil.microaggregation.remaining_people import remaining_of
from tableveil.microaggregation.solve import ClusterProblem, join, solve
from tableveil.policy import (
    DistinctLDiversity,
    Dominance,
    KAnonymity,
    PrivacyModel,
    ProbabilisticLDiversity,
    TCloseness,
)
from tableveil.policy.aggregation import Aggregation
from tableveil.policy.methods.microaggregation import ClosenessAlgorithm, Clustering, Microaggregation
from tests.engine.microaggregation.sensitive_tables import as_sets

METHODS = [Clustering.AUTO, Clustering.MDAV, Clustering.V_MDAV, Clustering.PARTITION]


@dataclass(frozen=True)
class Visits:
    """Records: a place, a person and a sensitive value each; None is NULL."""

    records: tuple[tuple[tuple[float, ...], int, int | None], ...]

    @cached_property
    def counted(self) -> list[tuple[tuple[tuple[float, ...], int, int], int]]:
        """The different records with their numbers; NULL is one more value."""
        null = self.width - 1
        same = Counter((place, who, null if value is None else value) for place, who, value in self.records)
        return sorted(same.items())

    @cached_property
    def width(self) -> int:
        return max((value for *_, value in self.records if value is not None), default=-1) + 2

    @cached_property
    def owned(self) -> list[tuple[int, int]]:
        return sorted({(who, -1 if value == self.width - 1 else value) for (_, who, value), _ in self.counted})

    @cached_property
    def points(self) -> Points:
        keys, numbers = zip(*self.counted, strict=True)
        counts, codes = np.array(numbers, np.int64), []
        columns: list[AggregatedColumn] = []
        for values in np.array([place for place, *_ in keys], float).T:
            positions, code = np.unique(values, return_inverse=True)
            of_code = np.bincount(code, counts).astype(np.int64)
            columns.append(AggregatedColumn(f"q{len(columns)}", Aggregation(), of_code, positions))
            codes.append(code.astype(np.int32))
        people = np.array([who for _, who, _ in keys], np.int32)
        pairs = [self.owned.index((who, -1 if value == self.width - 1 else value)) for _, who, value in keys]
        sensitive = (np.array([value for *_, value in keys], np.int32), people, np.array(pairs, np.int32))
        return Points(tuple(columns), tuple(codes), counts, sensitive, people)

    @cached_property
    def sensitive(self) -> tuple[SensitiveColumn, ...]:
        def counts(codes: NDArray[np.int32], width: int) -> NDArray[np.int64]:
            return np.bincount(codes, self.points.counts, width).astype(np.int64)

        values, people, pairs = self.points.sensitive
        who, what = np.array(self.owned).T
        return (
            SensitiveColumn("s", counts(values, self.width), self.width - 1),
            SensitiveColumn("", counts(people, int(people.max()) + 1), protected=False, people=True),
            SensitiveColumn("s", counts(pairs, len(self.owned)), protected=False, owned=PersonValues(who, what)),
        )

    @property
    def as_records(self) -> Points:
        """The points, taking every record for another person."""
        return replace(self.points, people=None)

    def members(self, clusters: SparseClusters) -> list[list[tuple[tuple[float, ...], int, int]]]:
        found: dict[int, list[tuple[tuple[float, ...], int, int]]] = defaultdict(list)
        for point, number, count in zip(clusters.points, clusters.clusters, clusters.counts, strict=True):
            found[int(number)] += [self.counted[point][0]] * int(count)
        return list(found.values())

    def meets(self, part: Sequence[tuple[tuple[float, ...], int, int]], model: PrivacyModel) -> bool:
        """Whether records meet a model, by its definition."""
        people = Counter(who for _, who, _ in part)
        values = Counter(value for *_, value in part if value != self.width - 1)
        owners = Counter(value for _, value in {(who, value) for _, who, value in part if value != self.width - 1})
        known = len({who for _, who, value in part if value != self.width - 1})
        match model:
            case KAnonymity(k):
                return len(people) >= k
            case Dominance(share):
                return max(people.values()) <= Fraction(share) * len(part)
            case DistinctLDiversity(l=l):
                return len(values) >= l and known - max(owners.values()) >= l - 1
            case ProbabilisticLDiversity(l=l):
                return bool(values) and all(
                    max(of.values()) * Fraction(l) <= whole for of, whole in ((values, values.total()), (owners, known))
                )
        raise AssertionError(model)


def solved(visits: Visits, models: Sequence[PrivacyModel], method: Clustering = Clustering.AUTO) -> Clustered:
    k = max(model.k for model in models if isinstance(model, KAnonymity))
    return solve(ClusterProblem(visits.points, k, visits.sensitive, models), Microaggregation(method), Control())


def attempted(
    visits: Visits, models: Sequence[PrivacyModel], method: Clustering = Clustering.AUTO
) -> Clustered | InfeasibleError:
    try:
        return solved(visits, models, method)
    except InfeasibleError as error:
        return error


@st.composite
def tables(draw: st.DrawFn, most: int = 16, people: int = 6) -> Visits:
    """Few places, people and values: ties everywhere, people with most of the records, equal records, NULL."""
    number = draw(st.integers(1, most))
    place = st.integers(0, draw(st.sampled_from([0, 2, 9]))).map(float)
    where = st.tuples(*[place] * draw(st.integers(1, 2)))
    who = st.integers(0, draw(st.integers(0, people - 1)))
    value = st.one_of(st.none(), st.integers(0, draw(st.integers(0, 3))))
    drawn = draw(st.lists(st.tuples(where, who, value), min_size=number, max_size=number))
    codes = {who: code for code, who in enumerate(sorted({who for _, who, _ in drawn}))}
    return Visits(tuple((where, codes[who], value) for where, who, value in drawn))


MODELS: list[list[PrivacyModel]] = [
    [],
    [Dominance(Decimal("0.5"))],
    [Dominance(Decimal("0.3"))],
    [DistinctLDiversity("s", 2)],
    [ProbabilisticLDiversity("s", Decimal("1.5")), Dominance(Decimal("0.4"))],
]


@given(tables(), st.integers(1, 4), st.sampled_from(MODELS), st.sampled_from([*METHODS, Clustering.UNIVARIATE]))
def test_every_cluster_meets_every_model(
    visits: Visits, k: int, others: list[PrivacyModel], method: Clustering
) -> None:
    if method is Clustering.UNIVARIATE and len(visits.points.columns) > 1:
        return
    models = [KAnonymity(k), *others]
    everybody = [record for record, count in visits.counted for _ in range(count)]
    unmet = {str(model) for model in models if not visits.meets(everybody, model)}
    found = attempted(visits, models, method)
    if isinstance(found, InfeasibleError):
        assert unmet
        assert {fault.found.split(", which")[0] for fault in found.faults} == unmet
        return

    members = visits.members(found.clusters)

    assert Counter(record for part in members for record in part) == Counter(everybody)
    assert all(visits.meets(part, model) for part in members for model in models)
    # Only shares of people who have a value can hold of parts of what they do not hold of.
    assert not unmet or any(isinstance(model, DistinctLDiversity | ProbabilisticLDiversity) for model in models)
    assert as_sets(solved(visits, models, method).clusters) == as_sets(found.clusters)


def partitions(records: list[int]) -> Iterator[list[list[int]]]:
    if not records:
        yield []
        return
    first, *rest = records
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for i, part in enumerate(smaller):
            yield [*smaller[:i], [first, *part], *smaller[i + 1 :]]


@given(tables(most=6, people=3), st.integers(1, 3), st.sampled_from(MODELS))
def test_what_is_said_to_be_infeasible_is(visits: Visits, k: int, others: list[PrivacyModel]) -> None:
    """All partitions are tried, unless the error says itself that nothing is proven."""
    models = [KAnonymity(k), *others]
    found = attempted(visits, models)
    if not isinstance(found, InfeasibleError) or any("is known to do" in fault.hint for fault in found.faults):
        return
    if not all(relaxation.nearest for relaxation in found.relaxations):
        return
    everybody = [record for record, count in visits.counted for _ in range(count)]
    for parts in partitions(list(range(len(everybody)))):
        chosen = [[everybody[i] for i in part] for part in parts]
        assert not all(visits.meets(part, model) for part in chosen for model in models)


@given(tables(people=16), st.integers(1, 4), st.sampled_from(METHODS[1:]))
def test_people_with_one_record_each_are_clustered_as_records(visits: Visits, k: int, method: Clustering) -> None:
    single = Visits(tuple((place, who, value) for who, (place, _, value) in enumerate(visits.records)))
    k = min(k, len(single.records))

    of_people = cluster(single.points, k, Microaggregation(method), Control())
    of_records = cluster(single.as_records, k, Microaggregation(method), Control())

    assert as_sets(of_people.clusters) == as_sets(of_records.clusters)


@pytest.mark.parametrize("model", [DistinctLDiversity("s", 4), ProbabilisticLDiversity("s", Decimal("3.1"))], ids=str)
def test_too_few_values_are_refused_before_any_cluster_is_formed(
    model: PrivacyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No clusters of three values have more: only what one person's values add to that may differ in parts."""
    visits = Visits(tuple(((float(i),), i // 2, i % 3) for i in range(60)))
    monkeypatch.setattr("tableveil.microaggregation.solve._formed", lambda *given: pytest.fail("it forms clusters"))
    with pytest.raises(InfeasibleError) as raised:
        solved(visits, [KAnonymity(2), model])
    assert [fault.field for fault in raised.value.faults] == ["privacy_models[1]"]


def test_one_person_with_all_records_is_refused_with_the_k_that_there_is() -> None:
    alone = Visits(tuple(((float(i),), 0, i % 3) for i in range(50)))
    with pytest.raises(InfeasibleError) as raised:
        solved(alone, [KAnonymity(2)])
    (fault,) = raised.value.faults
    assert fault.field == "privacy_models[0]"
    assert fault.found == "2-anonymity, which a single cluster of all 50 records of 1 person does not meet"
    two = Visits((*alone.records, ((9.0,), 1, 0)))
    with pytest.raises(InfeasibleError) as raised:
        solved(two, [KAnonymity(3)])
    assert raised.value.faults[0].hint == "Feasible would be k = 2."
    assert "51 records of 2 people does not meet" in raised.value.faults[0].found
    assert solved(two, [KAnonymity(2)]).clusters.number == 1


@pytest.mark.parametrize("method", METHODS)
def test_one_person_with_most_records_does_not_merge_the_others(method: Clustering) -> None:
    """The records of one who comes all the time are all in one place; the others are in pairs far from it."""
    random = np.random.default_rng(4)
    others = tuple(((float(place), 0.0), 1 + who, 0) for who, place in enumerate(random.permutation(60)))
    visits = Visits((*(((1000.0, float(i % 3)), 0, i % 2) for i in range(200)), *others))

    found = solved(visits, [KAnonymity(3)], method)

    assert found.clusters.number >= 15
    sizes = [len({who for _, who, _ in part}) for part in visits.members(found.clusters)]
    assert min(sizes) >= 3


def hospital(seed: int, people: int = 300) -> Visits:
    """Each person has an age, and visits on days of their own: one in ten comes often."""
    random = np.random.default_rng(seed)
    records = []
    for who in range(people):
        age, first = float(random.integers(0, 90)), float(random.integers(0, 300))
        for _ in range(random.choice([1, 2, 3, 12], p=[0.4, 0.3, 0.2, 0.1])):
            records.append(((age, first + float(random.integers(0, 60))), who, int(random.integers(0, 6))))
    return Visits(tuple(records))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [None, "0.2"])
def test_counting_people_while_clusters_form_loses_less_than_merging(method: Clustering, share: str | None) -> None:
    visits = hospital(1)
    models: list[PrivacyModel] = [KAnonymity(5)]
    models += [Dominance(Decimal(share))] if share else []

    found = solved(visits, models, method)

    of_records = cluster(visits.as_records, 5, Microaggregation(method), Control())
    merged = join(
        ClusterProblem(visits.points, 5, visits.sensitive, models),
        of_records,
        np.arange(of_records.clusters.number),
        Control(),
    )
    assert merged.merged > 10 > found.merged
    assert squared_error(visits.points, found.clusters).total < squared_error(visits.points, merged.clusters).total
    assert "of 5 people each" in found.account


def test_blocks_of_few_people_are_merged() -> None:
    """Blocks are of records: one that a single person fills has to be merged with another."""
    often = (((1000.0 + i, 0.0), 0, 0) for i in range(150))
    visits = Visits((*often, *(((float(i), 5.0), 1 + i, 0) for i in range(60))))
    forming, space = Forming(), Space.of(visits.points)
    for block in (visits.points.people == 0, visits.points.people != 0):
        names = np.flatnonzero(block)
        mdav(remaining_of(space, names, visits.points.counts[names], singly=False), 3, forming, Control())
    assert min(len({who for _, who, _ in part}) for part in visits.members(forming.clusters())) == 1

    formed = Clustered(forming.clusters(), "blocks")
    into = np.arange(formed.clusters.number)
    found = join(ClusterProblem(visits.points, 3, visits.sensitive, [KAnonymity(3)]), formed, into, Control())

    assert min(len({who for _, who, _ in part}) for part in visits.members(found.clusters)) >= 3


@pytest.mark.parametrize("closeness", ClosenessAlgorithm)
def test_algorithms_of_t_closeness_are_merged_until_people_are_enough(closeness: ClosenessAlgorithm) -> None:
    visits = hospital(2, 80)
    models: list[PrivacyModel] = [KAnonymity(4), TCloseness("s", Decimal("0.4")), Dominance(Decimal("0.3"))]
    found = solve(
        ClusterProblem(visits.points, 4, visits.sensitive, models), Microaggregation(closeness=closeness), Control()
    )
    members = visits.members(found.clusters)
    assert len(members) > 1
    assert all(visits.meets(part, model) for part in members for model in (models[0], models[2]))


def test_clusters_that_look_alike_are_joined_and_judged_together() -> None:
    """Two clusters in which nobody has the value of most; together all have both values."""
    place = (0.0,)
    first = [(place, who, value) for who, value in enumerate((0, 1, 0, 1))]
    second = [(place, who, 1 - value) for _, who, value in first]
    visits = Visits((*first, *second))
    models: list[PrivacyModel] = [KAnonymity(4), DistinctLDiversity("s", 2)]
    parts = [visits.counted.index((record, 1)) for record in first]
    other = [visits.counted.index((record, 1)) for record in second]
    formed = SparseClusters.of(np.array(parts + other), np.repeat([0, 1], 4), np.ones(8, np.int64))
    assert all(visits.meets(part, model) for part in visits.members(formed) for model in models)

    with pytest.raises(InfeasibleError) as raised:
        join(
            ClusterProblem(visits.points, 4, visits.sensitive, models),
            Clustered(formed, "given"),
            np.zeros(2, np.intp),
            Control(),
        )

    assert [fault.field for fault in raised.value.faults] == ["privacy_models[1]"]
    assert not any(relaxation.nearest for relaxation in raised.value.relaxations)
