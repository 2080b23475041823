"""delta-disclosure privacy equals its definition, and its declarations to the search are true."""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import AbsentValues, DeltaDisclosure
from tableveil.privacy import Facts
from tableveil.privacy.disclosure import delta, delta_disclosure_rule
from tests.engine.privacy.monotonicity import COLUMN, RuleFactory, SmallTable, check_declared, small_tables
from tests.engine.privacy.small_classes import (
    VALUES,
    Value,
    counted,
    decimals,
    lost,
    random_classes,
    shares,
    suppressed,
    valued,
)

REJECT, IGNORE = AbsentValues.REJECT, AbsentValues.IGNORE

DELTAS = decimals("0.1", "4", places=1) | st.sampled_from([Decimal(1), Decimal(2), Decimal(3)])

ELSEWHERE = st.lists(st.sampled_from(VALUES), max_size=6)


def holds(values: Sequence[Value], source: Sequence[Value], threshold: Decimal, absent: AbsentValues) -> bool:
    """|log2(q/p)| < a/b without logarithms: both q/p and p/q are less than 2**(a/b)."""
    a, b = threshold.as_integer_ratio()
    p, q = shares(source), shares(values)
    if absent is REJECT and len(q) < len(p):
        return False
    return all(max(q[value] / p[value], p[value] / q[value]) ** b < 2**a for value in q)


def rule(threshold: Decimal, absent: AbsentValues = REJECT) -> RuleFactory:
    return lambda facts: delta_disclosure_rule(DeltaDisclosure(COLUMN, threshold, absent), facts)


@pytest.mark.parametrize("absent", AbsentValues)
@given(classes=random_classes(), elsewhere=ELSEWHERE, threshold=DELTAS)
def test_definition(
    absent: AbsentValues, classes: list[list[Value]], elsewhere: list[Value], threshold: Decimal
) -> None:
    """The distribution is that of the whole source, NULLs and withheld records included."""
    facts, found = counted(classes, elsewhere)
    source = [*(value for values in classes for value in values), *elsewhere]
    expected = [holds(values, source, threshold, absent) for values in classes]
    assert rule(threshold, absent)(facts).releasable(found).tolist() == expected


@given(random_classes(), ELSEWHERE)
def test_what_classes_reach(classes: list[list[Value]], elsewhere: list[Value]) -> None:
    facts, found = counted(classes, elsewhere)
    p = shares([*(value for values in classes for value in values), *elsewhere])
    present = [max(abs(math.log2(q / p[value])) for value, q in shares(values).items()) for values in classes]
    np.testing.assert_allclose(delta(found.values(0), valued(facts), IGNORE), present, atol=1e-15)
    complete = [len(shares(values)) == len(p) for values in classes]
    expected = np.where(complete, present, np.inf)
    np.testing.assert_allclose(delta(found.values(0), valued(facts), REJECT), expected, atol=1e-15)


# --- at the threshold, and beyond what 64 bits hold -----------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 10, 999])
def test_twice_the_share_is_not_less_than_twice_the_share(times: int) -> None:
    """The share of b is 1/4 in the source: twice as large in one class, half as large in another."""
    facts, found = counted([[*"aabb"] * times, [*"aaab"] * times, [*"aaaaaaab"] * times], [*"aaab"] * times)
    assert valued(facts).counts.tolist() == [15 * times, 5 * times]
    assert rule(Decimal(1))(facts).releasable(found).tolist() == [False, True, False]
    assert rule(Decimal("1.0000000000000000001"))(facts).releasable(found).tolist() == [True, True, True]


def test_counts_of_a_hundred_million_do_not_overflow() -> None:
    facts, found = counted([[*"ab"]], [*"ab"])
    found.values(0).counts[:] = [5 * 10**7, 5 * 10**7]
    found.counts[:] = 10**8
    for count, holding in ((25 * 10**6, False), (25 * 10**6 + 1, True)):
        valued(facts).counts[:] = [10**8 - count, count]
        fresh = rule(Decimal(1))(facts)
        assert fresh.releasable(found).tolist() == [holding]
        assert lost(fresh, found) == [0 if holding else 1]
    assert rule(Decimal("1e9"))(facts).releasable(found).tolist() == [True]


# --- absent values, NULL, and nothing -------------------------------------------------------------------------------


def test_absent_values() -> None:
    """A class without c tells of its people that they do not have it, whatever delta is."""
    facts, found = counted([[*"aabb"], [*"aabbc"]])
    assert rule(Decimal(30))(facts).releasable(found).tolist() == [False, True]
    assert rule(Decimal(30), IGNORE)(facts).releasable(found).tolist() == [True, True]
    assert lost(rule(Decimal(30))(facts), found) == [4, 0]
    assert rule(Decimal(30))(facts).nearest(found, 3) is None


def test_null_is_a_value() -> None:
    facts, found = counted([["a", "b"], ["a", "b", None]])
    assert rule(Decimal(3))(facts).releasable(found).tolist() == [False, True]


def test_one_value_is_nothing_to_tell() -> None:
    facts, found = counted([["a"], ["a", "a"]])
    assert rule(Decimal("0.0001"))(facts).releasable(found).tolist() == [True, True]
    assert rule(Decimal("0.0001"))(facts).minimum_class_size == 1


def test_no_classes() -> None:
    facts, found = counted([[*"ab"]])
    none = found.selected(np.array([False]))
    for absent in AbsentValues:
        assert rule(Decimal(1), absent)(facts).releasable(none).tolist() == []
        assert lost(rule(Decimal(1), absent)(facts), none) == []
        assert rule(Decimal(1), absent)(facts).nearest(none, 0) is None


# --- the nearest parameter ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("absent", AbsentValues)
@given(classes=random_classes(), suppressible=st.integers(0, 8))
def test_nearest(absent: AbsentValues, classes: list[list[Value]], suppressible: int) -> None:
    facts, found = counted(classes)
    offered = rule(Decimal(1), absent)(facts).nearest(found, suppressible)
    if offered is None:
        everything = suppressible >= found.counts.sum()
        assert everything or suppressed(rule(Decimal(10**6), absent)(facts), found) > suppressible
        return
    number = Decimal(offered.removeprefix("delta = "))
    assert suppressed(rule(number, absent)(facts), found) <= suppressible
    stricter = number - Decimal("0.0001")
    assert stricter <= 0 or suppressed(rule(stricter, absent)(facts), found) > suppressible


def test_nearest_in_words() -> None:
    facts, found = counted([[*"aabb"]], [*"aaaaaaaaaabb"])
    assert rule(Decimal("0.5"))(facts).nearest(found, 0) == "delta = 1.0001"


# --- what is declared -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("absent", AbsentValues)
@given(table=small_tables(), threshold=DELTAS)
def test_declares_the_truth(absent: AbsentValues, table: SmallTable, threshold: Decimal) -> None:
    check_declared(table, rule(threshold, absent))


def test_ignoring_absent_values_is_not_monotone() -> None:
    """Two classes hold that have one value each; together one value is too rare."""
    facts, found = counted([[*"ab"] * 4, [*"a"] * 16, [*"ab"] * 4 + [*"a"] * 16], [*"b"] * 12)
    assert rule(Decimal(1), IGNORE)(facts).releasable(found).tolist() == [True, True, False]


def possible_sizes(facts: Facts, threshold: Decimal, absent: AbsentValues) -> list[int]:
    """Sizes at which some counts hold, by trying all."""
    column = valued(facts)
    p = [Fraction(int(count), column.records) for count in column.counts]
    a, b = threshold.as_integer_ratio()

    def some(left: int, size: int, values: list[Fraction]) -> bool:
        if not values:
            return left == 0
        counts = range(0 if absent is IGNORE else 1, left + 1)
        fine = [n for n in counts if n == 0 or max(n / (size * values[0]), size * values[0] / n) ** b < 2**a]
        return any(some(left - n, size, values[1:]) for n in fine)

    return [size for size in range(1, 13) if some(size, size, p)]


@pytest.mark.parametrize("absent", AbsentValues)
@given(source=st.lists(st.sampled_from(VALUES[:3]), min_size=1, max_size=12), threshold=DELTAS)
def test_no_larger_class_size_could_be_declared(absent: AbsentValues, source: list[Value], threshold: Decimal) -> None:
    facts, _ = counted([source])
    sizes = possible_sizes(facts, threshold, absent)
    assert rule(threshold, absent)(facts).minimum_class_size == min(sizes)


def test_a_class_must_have_the_rarest_value() -> None:
    """One of 1,000 records has b: below 1/(2 * 0.001) records, its share is more than twice as large."""
    facts, _ = counted([[*"a"] * 999 + ["b"]])
    assert rule(Decimal(1))(facts).minimum_class_size == 501
    assert rule(Decimal(1), IGNORE)(facts).minimum_class_size == 1
