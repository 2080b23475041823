"""k-map looks at the population; where only its size is known, at the sample's classes with a derived k'."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.classes import EquivalenceClasses, NumpyCounter
from tableveil.policy import CellSizes, EstimatedKMap, KAnonymity, KMap
from tableveil.privacy import Facts
from tableveil.privacy.k_anonymity import KAnonymityRule
from tableveil.privacy.k_map import EstimatedKMapRule, KMapRule, sample_class_size, smallest_population_class
from tests.engine.privacy.monotonicity import SmallTable, check_declared, small_tables
from tests.engine.privacy.populations import classes_of

POISSON, TRUNCATED = CellSizes.POISSON, CellSizes.ZERO_TRUNCATED_POISSON


def test_k_counts_the_population() -> None:
    classes = classes_of([1, 1, 4], [3, 2, 2])
    rule = KMapRule(KMap(3))
    assert rule.minimum_class_size == 1
    assert rule.releasable(classes).tolist() == [True, False, False]
    assert rule.lost(classes).tolist() == [0, 1, 4]
    assert smallest_population_class(classes) == 2


@pytest.mark.parametrize(
    ("suppressible", "nearest"), [(0, None), (1, "k = 2"), (4, "k = 2"), (5, "k = 7"), (6, "k = 7"), (7, None)]
)
def test_nearest_k(suppressible: int, nearest: str | None) -> None:
    assert KMapRule(KMap(9)).nearest(classes_of([1, 4, 2], [1, 2, 7]), suppressible) == nearest


@given(small_tables(), st.integers(1, 6))
def test_a_table_that_is_its_own_population_is_k_anonymous(table: SmallTable, k: int) -> None:
    counter = table.facts.counter
    groups = [table.codes[:, j].copy() for j in range(table.codes.shape[1])]
    alone = NumpyCounter(counter.levels, groups, table.counts, population=table.counts)
    for x in table.lattice:
        classes = alone.classes(x)
        expected = KAnonymityRule(KAnonymity(k)).releasable(classes)
        assert KMapRule(KMap(k)).releasable(classes).tolist() == expected.tolist()


@given(small_tables(population=True), st.integers(1, 14))
def test_what_is_declared_is_true(table: SmallTable, k: int) -> None:
    check_declared(table, lambda facts: KMapRule(KMap(k)))


@given(small_tables(population=True), st.integers(2, 14), st.decimals("0.01", "0.9", places=2))
def test_what_is_declared_of_estimates_is_true(table: SmallTable, k: int, significance: Decimal) -> None:
    check_declared(table, lambda facts: EstimatedKMapRule(EstimatedKMap(k, significance), facts))


def size_by_definition(k: int, fraction: Fraction, significance: Decimal, estimator: CellSizes) -> int:
    """The smallest size of at least 1 that is reached with at most the significance, term by term; at most k."""
    with localcontext() as context:
        context.prec = 50
        mean = Decimal(k * fraction.numerator) / fraction.denominator
        term = (-mean).exp()
        below, unseen = term, term if estimator is TRUNCATED else Decimal(0)
        size = 1
        while (1 - below) / (1 - unseen) > significance and size < k:
            term = term * mean / size
            below += term
            size += 1
        return size


@given(
    k=st.integers(2, 400),
    fraction=st.fractions("1/100000", "99999/100000"),
    significance=st.decimals("0.0001", "0.9999", places=4),
    estimator=st.sampled_from(CellSizes),
)
def test_derived_size(k: int, fraction: Fraction, significance: Decimal, estimator: CellSizes) -> None:
    expected = size_by_definition(k, fraction, significance, estimator)
    assert sample_class_size(k, fraction, significance, estimator) == expected


@pytest.mark.parametrize(
    ("k", "fraction", "significance", "estimator", "size"),
    [
        # Mean 0.5: P(X >= 1) = 0.393, P(X >= 2) = 0.0902, P(X >= 3) = 0.0144.
        (5, "0.1", "0.4", POISSON, 1),
        (5, "0.1", "0.1", POISSON, 2),
        (5, "0.1", "0.05", POISSON, 3),
        # Given that a class is seen: 0.0902 / 0.393 = 0.229.
        (5, "0.1", "0.1", TRUNCATED, 3),
        (5, "0.1", "0.23", TRUNCATED, 2),
        # k itself is enough whatever was drawn, and needed if nothing was left out.
        (5, "0.9", "0.01", POISSON, 5),
        (5, "1", "0.9", POISSON, 5),
        (5, "3", "0.9", TRUNCATED, 5),
        # Fast, and far from where probabilities can be told from 0.
        # Normal from here on: mean + 1.645 deviations of 32,768.
        (2**31 - 1, "0.5", "0.05", POISSON, 1073795723),
        (2**31 - 1, "1/1000000000000", "0.001", POISSON, 2),
    ],
)
def test_derived_size_by_hand(k: int, fraction: str, significance: str, estimator: CellSizes, size: int) -> None:
    assert sample_class_size(k, Fraction(fraction), Decimal(significance), estimator) == size


def estimated(k: int, population: int) -> tuple[EstimatedKMapRule, EquivalenceClasses]:
    counter = NumpyCounter((), (), np.array([50], np.int64))
    return EstimatedKMapRule(EstimatedKMap(k, Decimal("0.1")), Facts(counter, population)), classes_of([1, 2, 3, 50])


def test_estimates_are_about_the_sample() -> None:
    rule, classes = estimated(5, 500)
    assert rule.minimum_class_size == 2
    assert rule.releasable(classes).tolist() == [False, True, True, True]


def test_nearest_k_of_estimates_holds_and_the_next_does_not() -> None:
    rule, classes = estimated(200, 500)
    for suppressible, size in ((1, 2), (3, 3)):
        nearest = rule.nearest(classes, suppressible)
        assert nearest is not None
        k = int(nearest.removeprefix("k = "))
        assert estimated(k, 500)[0].minimum_class_size == size < estimated(k + 1, 500)[0].minimum_class_size
    assert rule.nearest(classes, 56) is None
