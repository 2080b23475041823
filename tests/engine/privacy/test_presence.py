"""delta-presence and inclusion compare the source with the population, exactly, class by class and as a whole."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import DeltaPresence, Inclusion, KAnonymity
from tableveil.privacy import Conjunction
from tableveil.privacy.k_anonymity import KAnonymityRule
from tableveil.privacy.presence import DeltaPresenceRule, InclusionRule, presence_range
from tests.engine.privacy.monotonicity import SmallTable, check_declared, small_tables
from tests.engine.privacy.populations import classes_of

INCLUSION = InclusionRule(Inclusion())


def presence(minimum: str, maximum: str) -> DeltaPresenceRule:
    return DeltaPresenceRule(DeltaPresence(Decimal(minimum), Decimal(maximum)))


SHARES = st.decimals(0, 1, places=3) | st.sampled_from([Decimal(1) / 3, Decimal(2) / 3, Decimal("0." + "9" * 40)])


@given(
    classes=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 20)), min_size=1, max_size=8),
    minimum=SHARES,
    maximum=SHARES,
    times=st.sampled_from([1, 1, 10**8]),
)
def test_shares_are_compared_exactly(
    classes: list[tuple[int, int]], minimum: Decimal, maximum: Decimal, times: int
) -> None:
    counts, population = [count * times for count, _ in classes], [people * times for _, people in classes]
    expected = [
        people > 0 and Fraction(minimum) <= Fraction(count, people) <= Fraction(maximum)
        for count, people in zip(counts, population, strict=True)
    ]
    rule = DeltaPresenceRule(DeltaPresence(minimum, maximum))
    assert rule.releasable(classes_of(counts, population)).tolist() == expected


def test_bounds_are_within() -> None:
    classes = classes_of([1, 2, 3, 4], [10, 10, 10, 10])
    assert presence("0.2", "0.3").releasable(classes).tolist() == [False, True, True, False]


def test_a_source_that_is_no_part_of_the_population_is_outside_every_range() -> None:
    classes = classes_of([3, 1, 2], [2, 0, 2])
    assert presence("0", "1").releasable(classes).tolist() == [False, False, True]
    assert INCLUSION.releasable(classes).tolist() == [False, False, True]
    assert INCLUSION.lost(classes).tolist() == [1, 1, 0]


def test_a_class_of_the_population_only_vetoes() -> None:
    without, also = classes_of([2, 3], [9, 9]), classes_of([2, 3, 0], [9, 9, 1])
    assert not presence("0.1", "0.5").vetoes(without)
    assert presence("0.1", "0.5").vetoes(also)
    assert not presence("0", "0.5").vetoes(also)
    assert not INCLUSION.vetoes(also)


def test_it_vetoes_together_with_a_class_size_too() -> None:
    # ARX looks at the sizes first, and accepts the empty class.
    rule = Conjunction((KAnonymityRule(KAnonymity(2)), presence("0.1", "0.5")))
    classes = classes_of([2, 3, 0], [9, 9, 1])
    assert rule.releasable(classes).all()
    assert rule.vetoes(classes)


def test_what_is_above_the_maximum_is_lost() -> None:
    # At most 3 of 10 people may be in the source.
    assert presence("0", "0.39").lost(classes_of([3, 5, 1], [10, 10, 2])).tolist() == [0, 2, 1]


@given(small_tables(population=True), SHARES, SHARES)
def test_what_is_declared_is_true(table: SmallTable, first: Decimal, second: Decimal) -> None:
    model = DeltaPresence(min(first, second), max(first, second))
    check_declared(table, lambda facts: DeltaPresenceRule(model))
    check_declared(table, lambda facts: INCLUSION)


def test_range() -> None:
    assert presence_range(classes_of([1, 3], [4, 4])) == (0.25, 0.75)
    assert presence_range(classes_of([1, 3, 0], [4, 4, 2])) == (0.0, 0.75)
    assert presence_range(classes_of([1], [0])) == (float("inf"), float("inf"))
    assert presence_range(classes_of([0], [5])) is None


@pytest.mark.parametrize(
    ("counts", "population", "minimum", "suppressible", "nearest"),
    [
        ([1, 2, 3], [10, 10, 10], "0.1", 0, "maximum = 0.3"),
        ([1, 2, 3], [10, 10, 10], "0.1", 3, "maximum = 0.2"),
        ([1, 2, 3], [9, 10, 10], "0.2", 1, "maximum = 0.3"),
        # The minimum cannot stay.
        ([1, 2, 3], [9, 10, 10], "0.2", 0, "minimum = 0.1111, maximum = 0.3"),
        ([1, 2, 3, 0], [9, 10, 10, 1], "0.1", 6, "minimum = 0, maximum = 0.3"),
        # A range from 0 to 1 promises nothing, one from a minimum to 1 does.
        ([1, 2, 2], [4, 2, 2], "0", 3, None),
        ([1, 2, 2], [4, 2, 2], "0.2", 3, "maximum = 1"),
        ([2, 2, 0], [2, 2, 1], "0.2", 0, None),
        # More than the population has: no range holds.
        ([1, 2], [0, 9], "0", 0, None),
        ([1, 2], [0, 9], "0", 1, "maximum = 0.2223"),
    ],
)
def test_nearest(
    counts: list[int], population: list[int], minimum: str, suppressible: int, nearest: str | None
) -> None:
    classes = classes_of(counts, population)
    assert presence(minimum, "0.05" if minimum == "0" else minimum).nearest(classes, suppressible) == nearest


def test_inclusion_has_no_parameter() -> None:
    assert INCLUSION.nearest(classes_of([2], [1]), 0) is None


@given(small_tables(population=True), SHARES, SHARES, st.integers(0, 10))
def test_what_is_offered_holds(table: SmallTable, first: Decimal, second: Decimal, suppressible: int) -> None:
    model = DeltaPresence(min(first, second), max(first, second))
    for x in table.lattice:
        classes = table.facts.counter.classes(x)
        offered = DeltaPresenceRule(model).nearest(classes, suppressible)
        if offered is not None:
            parts = dict(part.split(" = ") for part in offered.split(", "))
            changed = replace(model, **{name: Decimal(number) for name, number in parts.items()})
            rule = DeltaPresenceRule(changed)
            assert int(classes.counts[~rule.releasable(classes)].sum()) <= suppressible
            assert not rule.vetoes(classes)
