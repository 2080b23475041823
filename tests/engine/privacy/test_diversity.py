"""The l-diversity models equal their definitions, and their declarations to the search are true."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import (
    DistinctLDiversity,
    EntropyEstimator,
    EntropyLDiversity,
    ProbabilisticLDiversity,
    RecursiveCLDiversity,
)
from tableveil.privacy.diversity import (
    DistinctLDiversityRule,
    ProbabilisticLDiversityRule,
    RecursiveCLDiversityRule,
    distinct,
    probabilistic_l,
    recursive_c,
)
from tableveil.privacy.entropy_diversity import entropy_l, entropy_l_diversity_rule, grassberger
from tests.engine.privacy.monotonicity import COLUMN, RuleFactory, SmallTable, check_declared, small_tables
from tests.engine.privacy.small_classes import Value, counted, decimals, lost, random_classes, suppressed, valued

EULER_GAMMA = 0.57721566490153286

SHANNON, GRASSBERGER = EntropyEstimator.SHANNON, EntropyEstimator.GRASSBERGER

# --- spellings ------------------------------------------------------------------------------------------------------


@given(classes=random_classes())
def test_spellings_of_a_value_are_one_value(classes: list[list[Value]]) -> None:
    facts, found = counted(classes)
    values, column = found.values(0), valued(facts)
    # a and c are spelled alike, and so are b and d.
    first: dict[str, int] = {}
    names = sorted({value for one in classes for value in one if value is not None})
    alike = [first.setdefault("ab"["abcd".index(name) % 2], code) for code, name in enumerate(names)]
    alike += [len(names)] * (column.null_code is not None)
    spelled = replace(column, spellings=np.array(alike, np.int64))
    merged_facts, merged_found = counted(
        [[None if value is None else "ab"["abcd".index(value) % 2] for value in one] for one in classes]
    )
    merged_values, merged = merged_found.values(0), valued(merged_facts)
    assert distinct(values, spelled).tolist() == distinct(merged_values, merged).tolist()
    assert probabilistic_l(values, spelled).tolist() == probabilistic_l(merged_values, merged).tolist()
    assert entropy_l(values, spelled) == pytest.approx(entropy_l(merged_values, merged))
    for least in (1, 2, 3):
        assert recursive_c(values, spelled, least).tolist() == recursive_c(merged_values, merged, least).tolist()
    assert spelled.respelled == len(column.counts) - len(merged.counts)


# --- definitions ----------------------------------------------------------------------------------------------------


def descending(values: list[Value]) -> list[int]:
    return sorted(Counter(value for value in values if value is not None).values(), reverse=True)


def is_probabilistic(values: list[Value], l: Decimal) -> bool:  # noqa: E741
    counts = descending(values)
    return bool(counts) and all(Fraction(count, sum(counts)) <= 1 / Fraction(l) for count in counts)


def is_recursive(values: list[Value], c: Decimal, l: int) -> bool:  # noqa: E741
    counts = descending(values)
    return bool(counts) and counts[0] < Fraction(c) * sum(counts[l - 1 :])


def is_entropy_diverse(values: list[Value], l: Decimal) -> bool:  # noqa: E741
    """H >= ln l without logarithms: N**N >= l**N times the product of n**n."""
    counts = descending(values)
    total = sum(counts)
    return bool(counts) and total**total >= Fraction(l) ** total * math.prod(n**n for n in counts)


def digamma(twice: int) -> float:
    """psi(twice / 2): harmonic numbers."""
    if twice % 2 == 0:
        return -EULER_GAMMA + sum(1 / k for k in range(1, twice // 2))
    return -EULER_GAMMA - 2 * math.log(2) + sum(2 / k for k in range(1, twice - 1, 2))


def g(n: int) -> float:
    """As Grassberger 2003 defines it."""
    return digamma(2 * n) + (0.5 if n % 2 == 0 else -0.5) * (digamma(n + 1) - digamma(n))


def is_grassberger_diverse(values: list[Value], l: Decimal) -> bool:  # noqa: E741
    counts = descending(values)
    total = sum(counts)
    return len(counts) >= l and total * (g(total) - math.log(l)) >= sum(n * g(n) for n in counts)


L = decimals("1", "6", places=1)
C = decimals("0.1", "5", places=1)


def distinct_rule(l: int) -> RuleFactory:  # noqa: E741
    return lambda facts: DistinctLDiversityRule(DistinctLDiversity(COLUMN, l), facts)


def probabilistic_rule(l: Decimal) -> RuleFactory:  # noqa: E741
    return lambda facts: ProbabilisticLDiversityRule(ProbabilisticLDiversity(COLUMN, l), facts)


def recursive_rule(c: Decimal, l: int) -> RuleFactory:  # noqa: E741
    return lambda facts: RecursiveCLDiversityRule(RecursiveCLDiversity(COLUMN, c, l), facts)


def entropy_rule(l: Decimal, estimator: EntropyEstimator = SHANNON) -> RuleFactory:  # noqa: E741
    return lambda facts: entropy_l_diversity_rule(EntropyLDiversity(COLUMN, l, estimator), facts)


def released(make: RuleFactory, classes: list[list[Value]]) -> list[bool]:
    facts, found = counted(classes)
    return [bool(kept) for kept in make(facts).releasable(found)]


@given(random_classes(), st.integers(1, 5))
def test_distinct(classes: list[list[Value]], l: int) -> None:  # noqa: E741
    assert released(distinct_rule(l), classes) == [len(descending(values)) >= l for values in classes]


@given(random_classes(), L)
def test_probabilistic(classes: list[list[Value]], l: Decimal) -> None:  # noqa: E741
    assert released(probabilistic_rule(l), classes) == [is_probabilistic(values, l) for values in classes]


@given(random_classes(), C, st.integers(1, 4))
def test_recursive(classes: list[list[Value]], c: Decimal, l: int) -> None:  # noqa: E741
    assert released(recursive_rule(c, l), classes) == [is_recursive(values, c, l) for values in classes]


@given(random_classes(), L)
def test_entropy(classes: list[list[Value]], l: Decimal) -> None:  # noqa: E741
    assert released(entropy_rule(l), classes) == [is_entropy_diverse(values, l) for values in classes]


@given(random_classes(), L.filter(lambda number: number > 1))
def test_entropy_as_grassberger_estimates_it(classes: list[list[Value]], l: Decimal) -> None:  # noqa: E741
    expected = [is_grassberger_diverse(values, l) for values in classes]
    assert released(entropy_rule(l, GRASSBERGER), classes) == expected


# --- at the threshold -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l", [2, 3, 5, 6, 7, 10, 11, 59])
@pytest.mark.parametrize("times", [1, 7, 30])
def test_equally_frequent_values_are_as_diverse_as_they_are_many(l: int, times: int) -> None:  # noqa: E741
    facts, classes = counted([[f"v{i:02}" for i in range(l)] * times])
    assert entropy_l(classes.values(0), valued(facts)).tolist() == [l]
    for make in (entropy_rule, probabilistic_rule):
        assert make(Decimal(l))(facts).releasable(classes).tolist() == [True]
        assert make(Decimal(l) + Decimal("1e-20"))(facts).releasable(classes).tolist() == [False]


@pytest.mark.parametrize("times", [1, 3, 50, 1001])
def test_unequal_values_can_be_exactly_as_diverse_as_equal_ones(times: int) -> None:
    values: list[Value] = [*"aaaabcde"] * times
    facts, classes = counted([values])
    assert entropy_rule(Decimal(4))(facts).releasable(classes).tolist() == [True]
    assert entropy_rule(Decimal("4.0000000000000000001"))(facts).releasable(classes).tolist() == [False]


def test_shares_of_exactly_one_in_l_do_and_c_times_the_rest_does_not() -> None:
    assert released(probabilistic_rule(Decimal("2.5")), [[*"aabbc"], [*"aaabc"]]) == [True, False]
    assert released(recursive_rule(Decimal("1.5"), 2), [[*"aaabb"], [*"aaabbb"]]) == [False, True]


def test_counts_of_a_hundred_million_do_not_overflow() -> None:
    facts, classes = counted([[*"ab"]])
    values = classes.values(0)
    values.counts[:] = [10**8, 10**8 - 1]
    column = valued(facts)
    column.counts[:] = values.counts
    # The most frequent value has 1/l of the records and a billionth of one more.
    exactly = 1 / (Decimal(10**8) / (2 * 10**8 - 1))
    assert probabilistic_rule(exactly - Decimal("1e-20"))(facts).releasable(classes).tolist() == [True]
    assert probabilistic_rule(exactly + Decimal("1e-20"))(facts).releasable(classes).tolist() == [False]
    ratio = Decimal(10**8) / (10**8 - 1)
    assert recursive_rule(ratio + Decimal("1e-20"), 2)(facts).releasable(classes).tolist() == [True]
    assert recursive_rule(ratio - Decimal("1e-20"), 2)(facts).releasable(classes).tolist() == [False]
    assert recursive_rule(Decimal("1e300"), 2)(facts).releasable(classes).tolist() == [True]


# --- NULL, and nothing ----------------------------------------------------------------------------------------------


def test_null_is_no_value() -> None:
    classes: list[list[Value]] = [["a", None], ["a", "b", None, None, None], [None, None]]
    assert released(distinct_rule(2), classes) == [False, True, False]
    assert released(distinct_rule(1), classes) == [True, True, False]
    for make in (probabilistic_rule, entropy_rule):
        assert released(make(Decimal(2)), classes) == [False, True, False]
        assert released(make(Decimal(1)), classes) == [True, True, False]
    assert released(recursive_rule(Decimal(2), 2), classes) == [False, True, False]


@given(random_classes())
def test_one_value_is_nothing_to_ask_for(classes: list[list[Value]]) -> None:
    with_values = [any(value is not None for value in values) for values in classes]
    for make in (distinct_rule(1), probabilistic_rule(Decimal(1)), entropy_rule(Decimal(1))):
        assert released(make, classes) == with_values
    assert released(recursive_rule(Decimal("1.01"), 1), classes) == with_values


def test_no_classes() -> None:
    facts, classes = counted([[*"ab"]])
    none = classes.selected(np.array([False]))
    for make in (
        distinct_rule(2),
        probabilistic_rule(Decimal(2)),
        recursive_rule(Decimal(2), 2),
        entropy_rule(Decimal(2)),
        entropy_rule(Decimal(2), GRASSBERGER),
    ):
        assert make(facts).releasable(none).tolist() == []
        assert lost(make(facts), none) == []
        assert make(facts).nearest(none, 0) is None


# --- Grassberger's logarithm ----------------------------------------------------------------------------------------


def test_grassbergers_logarithm() -> None:
    assert grassberger(np.array([1]))[0] == pytest.approx(-1.270362845, abs=1e-9)
    counts = np.arange(1, 1200)
    np.testing.assert_allclose(grassberger(counts), [g(int(n)) for n in counts], rtol=0, atol=2e-14)
    large = np.array([10**6, 10**8])
    np.testing.assert_allclose(grassberger(large), np.log(large), atol=1e-12)


# --- what classes reach, and the nearest parameter ------------------------------------------------------------------


@given(random_classes())
def test_what_classes_reach(classes: list[list[Value]]) -> None:
    facts, found = counted(classes)
    values, column = found.values(0), valued(facts)
    counts = [descending(of) for of in classes]
    assert distinct(values, column).tolist() == [len(of) for of in counts]
    assert probabilistic_l(values, column).tolist() == [sum(of) / of[0] if of else 0 for of in counts]
    for l in (1, 2, 3):  # noqa: E741
        tails = [sum(of[l - 1 :]) for of in counts]
        expected = [of[0] / tail if tail else math.inf for of, tail in zip(counts, tails, strict=True)]
        assert recursive_c(values, column, l).tolist() == expected
    shannon = [math.prod((sum(of) / n) ** (n / sum(of)) for n in of) if of else 0 for of in counts]
    np.testing.assert_allclose(entropy_l(values, column), shannon)
    estimated = [min(len(of), math.exp(g(sum(of)) - sum(n * g(n) for n in of) / sum(of))) if of else 0 for of in counts]
    np.testing.assert_allclose(entropy_l(values, column, GRASSBERGER), estimated)


def check_nearest(make: Callable[[Decimal], RuleFactory], sign: int, weakest: Decimal) -> None:
    """The number that is offered holds, one place stricter does not, and nothing is offered only if nothing holds."""

    @given(random_classes(), st.integers(0, 8))
    def offers(classes: list[list[Value]], suppressible: int) -> None:
        facts, found = counted(classes)
        offered = make(Decimal(2))(facts).nearest(found, suppressible)
        if offered is None:
            everything = suppressible >= found.counts.sum()
            assert everything or suppressed(make(weakest)(facts), found) > suppressible
            return
        number = Decimal(offered.split(" = ")[1])
        assert suppressed(make(number)(facts), found) <= suppressible
        stricter = number + sign * Decimal("0.0001")
        assert stricter <= 0 or suppressed(make(stricter)(facts), found) > suppressible

    offers()


def test_nearest_probabilistic() -> None:
    check_nearest(probabilistic_rule, 1, Decimal("1.0001"))


@pytest.mark.parametrize("estimator", EntropyEstimator)
def test_nearest_entropy(estimator: EntropyEstimator) -> None:
    check_nearest(lambda number: entropy_rule(number, estimator), 1, Decimal("1.0001"))


@pytest.mark.parametrize("l", [1, 2, 3])
def test_nearest_recursive(l: int) -> None:  # noqa: E741
    check_nearest(lambda c: recursive_rule(c, l), -1, Decimal(10**6))


@given(random_classes(), st.integers(0, 8))
def test_nearest_distinct(classes: list[list[Value]], suppressible: int) -> None:
    facts, found = counted(classes)
    offered = distinct_rule(9)(facts).nearest(found, suppressible)
    holding = [l for l in range(2, 9) if suppressed(distinct_rule(l)(facts), found) <= suppressible]  # noqa: E741
    everything = suppressible >= found.counts.sum()
    assert offered == (None if everything or not holding else f"l = {max(holding)}")


def test_nearest_in_words() -> None:
    facts, classes = counted([[*"aaabbbc"], [*"aab"]])
    assert probabilistic_rule(Decimal(3))(facts).nearest(classes, 3) == "l = 2.3333"
    assert recursive_rule(Decimal(1), 2)(facts).nearest(classes, 0) == "c = 2.0001"
    assert distinct_rule(4)(facts).nearest(classes, 0) == "l = 2"


# --- what is declared -----------------------------------------------------------------------------------------------


@given(small_tables(), st.integers(1, 4))
def test_distinct_declares_the_truth(table: SmallTable, l: int) -> None:  # noqa: E741
    check_declared(table, distinct_rule(l))


@given(small_tables(), decimals("1", "4", places=1))
def test_probabilistic_declares_the_truth(table: SmallTable, l: Decimal) -> None:  # noqa: E741
    check_declared(table, probabilistic_rule(l))


@given(small_tables(), C, st.integers(1, 4))
def test_recursive_declares_the_truth(table: SmallTable, c: Decimal, l: int) -> None:  # noqa: E741
    check_declared(table, recursive_rule(c, l))


@pytest.mark.parametrize("estimator", EntropyEstimator)
@given(table=small_tables(), l=decimals("1.1", "4", places=1))
def test_entropy_declares_the_truth(estimator: EntropyEstimator, table: SmallTable, l: Decimal) -> None:  # noqa: E741
    check_declared(table, entropy_rule(l, estimator))


def test_grassbergers_estimate_is_not_monotone() -> None:
    """Without suppression, a class may fail that is made of two that hold."""
    assert released(entropy_rule(Decimal(3), GRASSBERGER), [[*"abc"], [*"aabbcc"]]) == [True, False]


@pytest.mark.parametrize(
    ("c", "l", "size"), [("2", 3, 3), ("1", 3, 4), ("0.5", 2, 4), ("0.4", 2, 4), ("0.1", 1, 11), ("1.0001", 1, 1)]
)
def test_smallest_recursive_class(c: str, l: int, size: int) -> None:  # noqa: E741
    """A class of so many records holds, one smaller does not: no larger size could be declared."""
    make = recursive_rule(Decimal(c), l)
    values: list[Value] = [f"v{i:02}" for i in range(size)]
    assert make(counted([values])[0]).minimum_class_size == size
    assert released(make, [values]) == [True]
