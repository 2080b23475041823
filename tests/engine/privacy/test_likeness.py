"""beta-likeness equals its definition, and its declarations to the search are true."""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import BetaLikeness
from tableveil.privacy.likeness import BetaLikenessRule, beta
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

BETAS = decimals("0.1", "5", places=1)

ELSEWHERE = st.lists(st.sampled_from(VALUES), max_size=6)
KINDS = pytest.mark.parametrize("enhanced", [False, True])


def gains(values: Sequence[Value], source: Sequence[Value]) -> list[tuple[Fraction, Fraction]]:
    """Per value of the source its share p there, and (q - p)/p."""
    q = shares(values)
    return [(p, (q.get(value, Fraction(0)) - p) / p) for value, p in shares(source).items()]


def holds(values: Sequence[Value], source: Sequence[Value], threshold: Decimal, enhanced: bool) -> bool:
    return all(
        gain <= Fraction(threshold) and (not enhanced or p == 1 or gain <= -math.log(p))
        for p, gain in gains(values, source)
    )


def rule(threshold: Decimal, enhanced: bool = False) -> RuleFactory:
    return lambda facts: BetaLikenessRule(BetaLikeness(COLUMN, threshold, enhanced), facts)


@KINDS
@given(classes=random_classes(), elsewhere=ELSEWHERE, threshold=BETAS)
def test_definition(enhanced: bool, classes: list[list[Value]], elsewhere: list[Value], threshold: Decimal) -> None:
    """The distribution is that of the whole source, NULLs and withheld records included."""
    facts, found = counted(classes, elsewhere)
    source = [*(value for values in classes for value in values), *elsewhere]
    expected = [holds(values, source, threshold, enhanced) for values in classes]
    assert rule(threshold, enhanced)(facts).releasable(found).tolist() == expected


@given(random_classes(), ELSEWHERE)
def test_what_classes_reach(classes: list[list[Value]], elsewhere: list[Value]) -> None:
    facts, found = counted(classes, elsewhere)
    source = [*(value for values in classes for value in values), *elsewhere]
    basic = [float(max(gain for _, gain in gains(values, source))) for values in classes]
    np.testing.assert_allclose(beta(found.values(0), valued(facts)), basic, rtol=1e-12, atol=1e-15)
    within = [holds(values, source, Decimal(10**6), True) for values in classes]
    expected = np.where(within, basic, np.inf)
    np.testing.assert_allclose(beta(found.values(0), valued(facts), enhanced=True), expected, rtol=1e-12, atol=1e-15)


# --- at the threshold, and beyond what 64 bits hold -----------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 10, 999])
def test_exactly_beta_is_fine(times: int) -> None:
    """The share of b is 0.2 in the source and 0.3 in the class."""
    facts, found = counted([[*"aaaaaaabbb"] * times], [*"aaaaaaaaab"] * times)
    assert rule(Decimal("0.5"))(facts).releasable(found).tolist() == [True]
    assert rule(Decimal("0.4999999999999999999"))(facts).releasable(found).tolist() == [False]


def test_counts_of_a_hundred_million_do_not_overflow() -> None:
    facts, found = counted([[*"ab"]], [*"ab"])
    found.values(0).counts[:] = [5 * 10**7, 5 * 10**7]
    found.counts[:] = 10**8
    for count, holding in ((25 * 10**6, True), (25 * 10**6 - 1, False)):
        valued(facts).counts[:] = [10**8 - count, count]
        fresh = rule(Decimal(1))(facts)
        assert fresh.releasable(found).tolist() == [holding]
        assert lost(fresh, found) == [0 if holding else 2]
    assert rule(Decimal("1e300"))(facts).releasable(found).tolist() == [True]


# --- absent values, NULL, and what is nothing -----------------------------------------------------------------------


def test_a_value_may_be_absent() -> None:
    """Half of the source has a; a class without it has twice the share of b."""
    facts, found = counted([[*"bb"], [*"aa"]])
    assert rule(Decimal(1))(facts).releasable(found).tolist() == [True, True]


def test_enhanced_is_stricter_for_frequent_values() -> None:
    """-ln 0.5 is 0.69: the share of a may be 0.84 at most, whatever beta is."""
    facts, found = counted([[*"aaaab"], [*"aaaaaab"]], [*"bbbbbbbb"])
    assert valued(facts).counts.tolist() == [10, 10]
    assert rule(Decimal(9), True)(facts).releasable(found).tolist() == [True, False]
    assert rule(Decimal(9))(facts).releasable(found).tolist() == [True, True]
    assert rule(Decimal(1), True)(facts).nearest(found, 0) is None
    assert rule(Decimal("0.1"), True)(facts).nearest(found, 7) == "beta = 0.6"


def test_null_is_a_value() -> None:
    facts, found = counted([["a", None], ["a", "a"]])
    assert rule(Decimal("0.5"))(facts).releasable(found).tolist() == [False, True]


def test_one_value_is_nothing_to_gain() -> None:
    facts, found = counted([["a"], ["a", "a"]])
    for enhanced in (False, True):
        assert rule(Decimal("0.0001"), enhanced)(facts).releasable(found).tolist() == [True, True]
        assert rule(Decimal("0.0001"), enhanced)(facts).minimum_class_size == 1


def test_no_classes() -> None:
    facts, found = counted([[*"ab"]])
    none = found.selected(np.array([False]))
    assert rule(Decimal(1))(facts).releasable(none).tolist() == []
    assert lost(rule(Decimal(1))(facts), none) == []
    assert rule(Decimal(1))(facts).nearest(none, 0) is None


# --- the nearest parameter ------------------------------------------------------------------------------------------


@KINDS
@given(classes=random_classes(), suppressible=st.integers(0, 8))
def test_nearest(enhanced: bool, classes: list[list[Value]], suppressible: int) -> None:
    facts, found = counted(classes)
    offered = rule(Decimal(1), enhanced)(facts).nearest(found, suppressible)
    if offered is None:
        everything = suppressible >= found.counts.sum()
        hopeless = suppressed(rule(Decimal(10**6), enhanced)(facts), found) > suppressible
        assert everything or hopeless
        return
    number = Decimal(offered.removeprefix("beta = "))
    assert suppressed(rule(number, enhanced)(facts), found) <= suppressible
    stricter = number - Decimal("0.0001")
    assert stricter <= 0 or suppressed(rule(stricter, enhanced)(facts), found) > suppressible


# --- what is declared -----------------------------------------------------------------------------------------------


@KINDS
@given(table=small_tables(), threshold=BETAS)
def test_declares_the_truth(enhanced: bool, table: SmallTable, threshold: Decimal) -> None:
    check_declared(table, rule(threshold, enhanced))


@KINDS
@given(source=st.lists(st.sampled_from(VALUES), min_size=1, max_size=12), threshold=BETAS)
def test_no_larger_class_size_could_be_declared(enhanced: bool, source: list[Value], threshold: Decimal) -> None:
    """A class holds if the records of every value are at most what its share allows, which may be any numbers."""
    facts, _ = counted([source])
    most = {
        p: p * (1 + (min(Fraction(threshold), Fraction(-math.log(p))) if enhanced and p < 1 else Fraction(threshold)))
        for p in shares(source).values()
    }
    possible = [
        size for size in range(1, 13) if sum(math.floor(most[p] * size) for p in shares(source).values()) >= size
    ]
    assert rule(threshold, enhanced)(facts).minimum_class_size == min(possible)
