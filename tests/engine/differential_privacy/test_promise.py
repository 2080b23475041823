"""The promise, computed for all neighbouring small tables; and defects that the computation finds."""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import pytest

from tableveil.differential_privacy import Drops, drops, eta
from tableveil.lattice import Transformation
from tests.engine.differential_privacy.small_tables import (
    LATTICE,
    PEOPLE,
    Outcome,
    Table,
    choices,
    gains_of,
    outcomes,
    power_of_e,
    worst,
)

EPSILON, SEARCH, DELTA = Fraction(1), Fraction(1, 2), Fraction(1, 5)
REST = EPSILON - SEARCH
# The computed powers of e have 60 digits.
ROUNDING = Fraction(1, 10**50)
FIXED: dict[Transformation, Fraction] = {(0, 0): Fraction(1)}


def test_a_fixed_transformation_has_exactly_the_claimed_delta() -> None:
    removed = drops(EPSILON, DELTA)
    found = worst(lambda people: outcomes(people, FIXED, removed), EPSILON, 6)
    assert abs(found - removed.delta) < ROUNDING
    assert removed.delta <= DELTA


def test_the_choice_and_the_drops_together_keep_the_promise() -> None:
    removed = drops(REST, DELTA)
    assert worst(functools.cache(lambda people: _jointly(people, removed)), EPSILON, 5) <= removed.delta


def test_one_more_person_adds_the_range_at_most() -> None:
    removed = drops(EPSILON, DELTA)
    for people in ((), ((0, 0),), ((0, 0),) * 4, ((0, 1), (1, 1))):
        for person in ((0, 0), (1, 1)):
            fewer, more = gains_of(people, removed), gains_of(tuple(sorted((*people, person))), removed)
            assert all(0 <= more.check(x).gain - fewer.check(x).gain <= more.range for x in LATTICE)
    # The range is reached: half of it would be too little.
    large = [gains_of(((0, 0),) * n, removed) for n in (20, 21)]
    assert large[1].check((0, 0)).gain - large[0].check((0, 0)).gain == large[0].range


def test_a_threshold_that_is_too_small_is_found() -> None:
    removed = drops(EPSILON, DELTA)
    smaller = Drops(removed.masses[1:-1])
    assert worst(lambda people: outcomes(people, FIXED, smaller), EPSILON, 4) > DELTA


def test_one_draw_for_all_classes_is_found() -> None:
    removed = drops(EPSILON, DELTA)

    def shared(
        classes: Counter[tuple[int, ...]], of: Drops
    ) -> Iterator[tuple[Mapping[tuple[int, ...], int], Fraction]]:
        for z, mass in enumerate(of.masses):
            yield {name: max(0, size - z) for name, size in classes.items()}, Fraction(mass, of.total)

    assert worst(lambda people: outcomes(people, FIXED, removed, shared), EPSILON, 4) > DELTA + ROUNDING


@pytest.mark.long
def test_gains_divided_by_the_number_of_records_are_found() -> None:
    few = Drops((1, 8, 1))
    assert _most_of_choice(lambda people: choices(people, SEARCH, few)) <= power_of_e(SEARCH)
    # A range for means that is right for tables of 30 people only.
    means = functools.partial(_most_of_choice, lambda people: choices(people, SEARCH * 30 / max(1, len(people)), few))
    assert means() > power_of_e(SEARCH)


def test_an_epsilon_that_is_spent_twice_is_found() -> None:
    removed = drops(EPSILON, DELTA)
    assert worst(functools.cache(lambda people: _jointly(people, removed)), EPSILON, 4) > removed.delta + ROUNDING


def test_the_rate_is_the_largest_but_for_rounding() -> None:
    rate = eta(SEARCH, 7)
    twice = power_of_e(rate * 7 * Fraction(693147180559945309417232121458, 10**30))
    assert power_of_e(SEARCH) * (1 - Fraction(1, 10**20)) < twice <= power_of_e(SEARCH)


def _jointly(people: Table, removed: Drops) -> dict[Outcome, Fraction]:
    return outcomes(people, choices(people, SEARCH, removed), removed)


def _most_of_choice(chosen: Callable[[Table], Mapping[Transformation, Fraction]]) -> Fraction:
    """The largest ratio of the probabilities of a choice for neighbouring tables."""
    most = Fraction(0)
    for number in range(5):
        for people in itertools.combinations_with_replacement(PEOPLE, number):
            for person in PEOPLE:
                one, other = chosen(people), chosen(tuple(sorted((*people, person))))
                most = max(most, *(max(one[x] / other[x], other[x] / one[x]) for x in LATTICE))
    return most
