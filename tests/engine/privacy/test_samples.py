"""Rules by sample judge all released classes together, and suppress the smallest, most specific ones first."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tableveil.classes import NumpyCounter
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.policy import AverageRisk, PopulationUniqueness, SampleUniqueness, UniquenessEstimator
from tableveil.privacy import Facts
from tableveil.privacy.by_sample import SampleRule, shortest_prefix
from tableveil.privacy.risks import (
    AverageRiskRule,
    PopulationUniquenessRule,
    SampleUniquenessRule,
    average_risk,
    sample_uniqueness,
)
from tableveil.risk import ClassSizes, population_uniqueness
from tests.engine.privacy.monotonicity import SmallTable, check_declared, small_tables
from tests.engine.privacy.populations import counter_of

POPULATION = 1000


def average(threshold: Decimal | str) -> Callable[[Facts], SampleRule[Any]]:
    return lambda facts: AverageRiskRule(AverageRisk(Decimal(threshold)), facts)


def uniqueness(threshold: Decimal | str) -> Callable[[Facts], SampleRule[Any]]:
    return lambda facts: SampleUniquenessRule(SampleUniqueness(Decimal(threshold)), facts)


def in_population(
    threshold: Decimal | str, estimator: UniquenessEstimator = UniquenessEstimator.ZAYATZ
) -> Callable[[Facts], SampleRule[Any]]:
    model = PopulationUniqueness(Decimal(threshold), estimator)
    return lambda facts: PopulationUniquenessRule(model, replace(facts, population_size=POPULATION))


def average_by_definition(sizes: Sequence[int]) -> Fraction:
    return sum((Fraction(1, size) for size in sizes for _ in range(size)), Fraction()) / sum(sizes)


def uniqueness_by_definition(sizes: Sequence[int]) -> Fraction:
    return Fraction(sum(size == 1 for size in sizes), sum(sizes))


def zayatz_by_definition(sizes: Sequence[int]) -> float | None:
    found = ClassSizes.of(np.array(sizes, np.int64))
    return population_uniqueness(found, POPULATION, UniquenessEstimator.ZAYATZ)


MEASURES = [
    (average, average_by_definition),
    (uniqueness, uniqueness_by_definition),
    (in_population, zayatz_by_definition),
]

THRESHOLDS = st.decimals("0.01", "0.99", places=2) | st.sampled_from([Decimal(1) / 3, Decimal("0.0001")])


def kept_of(make: Callable[[Facts], SampleRule[Any]], counts: Sequence[int]) -> list[int]:
    counter = counter_of(counts)
    classes = counter.classes((0,))
    return list(classes.counts[make(Facts(counter)).releasable(classes)].tolist())


@pytest.mark.parametrize(("rule", "measure"), MEASURES)
@given(counts=st.lists(st.integers(1, 9) | st.integers(1, 2), min_size=1, max_size=12), threshold=THRESHOLDS)
def test_as_many_of_the_largest_classes_as_can_be(
    rule: Callable[[Decimal], Callable[[Facts], SampleRule[Any]]],
    measure: Callable[[Sequence[int]], Fraction],
    counts: list[int],
    threshold: Decimal,
) -> None:
    ordered = sorted(counts)
    expected = next((ordered[n:] for n in range(len(ordered)) if measure(ordered[n:]) <= threshold), [])
    assert sorted(kept_of(rule(threshold), counts)) == expected


def test_thresholds_are_exact() -> None:
    # 3 of 30 are 0.1, though the float is above it.
    assert len(kept_of(average("0.1"), [10, 10, 10])) == 3
    assert len(kept_of(average("0.0999999999999999999999999999999"), [10, 10, 10])) == 0
    assert len(kept_of(uniqueness("0.1"), [1, 1, 1, 27])) == 4
    assert len(kept_of(uniqueness("0.0999999999999999999999999999999"), [1, 1, 1, 27])) == 3


def test_all_in_one_class_are_no_exception() -> None:
    # ARX takes no notice of a class whose labels are all the most general ones.
    assert kept_of(average("0.4"), [3]) == [3]
    assert kept_of(average("0.3"), [3]) == []
    assert kept_of(uniqueness("0.5"), [1]) == []


def test_nothing_to_judge() -> None:
    for make in (average("0.1"), uniqueness("0"), in_population("0")):
        assert kept_of(make, [0]) == []


def test_without_an_estimate_only_uniques_go() -> None:
    # Pitman's model has no estimate if all are unique, nor if one is left of them.
    make = in_population("0.99", UniquenessEstimator.PITMAN)
    assert kept_of(make, [1, 1, 1]) == []
    assert kept_of(make, [2, 2]) == [2, 2]


# --- which of the classes of equal size -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "suppressed"),
    # The two in between lose the same together: the first attribute decides, not how its labels are called.
    [("0.4", ""), ("0.34", "bb"), ("0.25", "bb ba"), ("0.15", "bb ba ab"), ("0.1", "bb ba ab aa")],
)
def test_of_equal_sizes_the_most_specific_go_first(threshold: str, suppressed: str) -> None:
    # `a` stands for four values, `b` and `c` for one each.
    rows = tuple((f"v{i}", "aaaabc"[i], "*") for i in range(6))
    values = [row[0] for row in rows]
    levels = attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, values, values), has_null=False)
    groups = [np.array(["aaaabc".index(label) for label in labels], np.int32) for labels in ("aabbc", "ababc")]
    counter = NumpyCounter([levels, levels], groups, np.array([1, 1, 1, 1, 6], np.int64))
    classes = counter.classes((1, 1))
    gone = classes.selected(~uniqueness(threshold)(Facts(counter)).releasable(classes))
    labels = {"abc"[a] + "abc"[b] for a, b in zip(gone.groups(0), gone.groups(1), strict=True)}
    assert labels == set(suppressed.split())


@given(small_tables(), THRESHOLDS)
def test_classes_go_in_the_order_of_size_and_loss(table: SmallTable, threshold: Decimal) -> None:
    levels = table.facts.counter.levels
    for x in table.lattice:
        classes = table.facts.counter.classes(x)
        keys = []
        for i, count in enumerate(classes.counts.tolist()):
            leaves = [levels[j].leaves[level][classes.groups(j)[i]] for j, level in enumerate(x)]
            shares = [Fraction(int(n), int(levels[j].domain_size)) for j, n in enumerate(leaves)]
            keys.append((count, math.prod(1 + count * share for share in shares), leaves, i))
        for make in (average(threshold), uniqueness(threshold)):
            kept = make(table.facts).releasable(classes)
            suppressed = {key[-1] for key in sorted(keys)[: int(np.count_nonzero(~kept))]}
            assert suppressed == set(np.flatnonzero(~kept).tolist())


# --- what is declared -----------------------------------------------------------------------------------------------

RULES = st.tuples(st.sampled_from([average, uniqueness, in_population]), THRESHOLDS)


@given(small_tables(), RULES)
def test_what_is_declared_is_true(
    table: SmallTable, rule: tuple[Callable[[Decimal], Callable[[Facts], SampleRule[Any]]], Decimal]
) -> None:
    make, threshold = rule
    check_declared(table, make(threshold))


@given(small_tables(), RULES, st.integers(1, 4))
def test_what_is_lost_together_is_lost_below(
    table: SmallTable, rule: tuple[Callable[[Decimal], Callable[[Facts], SampleRule[Any]]], Decimal], k: int
) -> None:
    """Also together with a least class size, which is then looked at first."""
    judge = rule[0](rule[1])(table.facts)
    lost, suppressed = {}, {}
    for x in table.lattice:
        classes = table.facts.counter.classes(x)
        large = classes.selected(classes.counts >= k)
        small = int(classes.counts.sum()) - int(large.counts.sum())
        lost[x] = small + judge.lost_together(large)
        suppressed[x] = small + int(large.counts[~judge.releasable(large)].sum())
    for y in table.lattice:
        assert all(lost[y] <= suppressed[x] for x in table.lattice if all(a <= b for a, b in zip(x, y, strict=True)))


def test_a_threshold_below_one_record_implies_a_size() -> None:
    facts = Facts(counter_of([1, 4, 5]))
    assert uniqueness("0")(facts).minimum_class_size == 2
    assert uniqueness("0.0999")(facts).minimum_class_size == 2
    assert uniqueness("0.1")(facts).minimum_class_size == 1


# --- what is offered ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "counts", "suppressible", "nearest"),
    [
        (average("0.1"), [1, 2, 4], 0, "threshold = 0.4286"),
        (average("0.1"), [1, 2, 4], 2, "threshold = 0.3334"),
        (average("0.1"), [1, 2, 4], 3, "threshold = 0.25"),
        (average("0.1"), [1, 2, 4], 7, None),
        (average("0.1"), [1, 1], 0, None),
        (uniqueness("0"), [1, 1, 4], 0, "threshold = 0.3334"),
        (uniqueness("0"), [1, 1, 4], 1, "threshold = 0.2"),
        (uniqueness("0"), [1, 1, 4], 2, "threshold = 0"),
        (in_population("0", UniquenessEstimator.PITMAN), [1, 1], 0, None),
    ],
)
def test_nearest(
    make: Callable[[Facts], SampleRule[Any]], counts: list[int], suppressible: int, nearest: str | None
) -> None:
    counter = counter_of(counts)
    assert make(Facts(counter)).nearest(counter.classes((0,)), suppressible) == nearest


@given(small_tables(), RULES, st.integers(0, 10))
def test_what_is_offered_holds(
    table: SmallTable, rule: tuple[Callable[[Decimal], Callable[[Facts], SampleRule[Any]]], Decimal], suppressible: int
) -> None:
    make, threshold = rule
    assume(make is not in_population)
    for x in table.lattice:
        classes = table.facts.counter.classes(x)
        offered = make(threshold)(table.facts).nearest(classes, suppressible)
        if offered is not None:
            kept = make(Decimal(offered.removeprefix("threshold = ")))(table.facts).releasable(classes)
            assert int(classes.counts[~kept].sum()) <= suppressible


# --- measures and helpers -------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 5), min_size=1))
def test_measures(counts: list[int]) -> None:
    assert average_risk(np.array(counts)) == float(average_by_definition(counts))
    assert sample_uniqueness(np.array(counts)) == float(uniqueness_by_definition(counts))


@given(st.lists(st.booleans()))
def test_shortest_prefix(holds: list[bool]) -> None:
    holds.append(True)
    found = shortest_prefix(holds.__getitem__, len(holds) - 1)
    assert holds[found]
    assert found == 0 or not holds[found - 1]
    if holds == sorted(holds):
        assert found == holds.index(True)
