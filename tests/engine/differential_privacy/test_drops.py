"""The rows that classes lose: exact masses, the least threshold, and draws that follow the masses."""

from collections import Counter
from fractions import Fraction
from functools import partial

import pytest

from tableveil.differential_privacy import Drops, drops
from tests.engine.differential_privacy.small_tables import power_of_e

PARAMETERS = [
    (Fraction(1), Fraction(1, 10**6)),
    (Fraction(1, 100), Fraction(1, 1000)),
    (Fraction(7, 3), Fraction(1, 4)),
]


def test_epsilon_1_and_delta_of_a_millionth_remove_14_rows_on_average() -> None:
    assert drops(Fraction(1), Fraction(1, 10**6)).middle == 14


@pytest.mark.parametrize(("epsilon", "delta"), PARAMETERS)
def test_neighbouring_masses_differ_by_the_power_of_epsilon_at_most(epsilon: Fraction, delta: Fraction) -> None:
    found = drops(epsilon, delta)
    ratios = {Fraction(b, a) for a, b in zip(found.masses, found.masses[1:], strict=False)}
    assert max(*ratios, *(1 / ratio for ratio in ratios)) <= power_of_e(epsilon)
    assert found.masses == found.masses[::-1]
    assert found.delta <= delta


@pytest.mark.parametrize(("epsilon", "delta"), PARAMETERS)
def test_no_smaller_threshold_keeps_delta(epsilon: Fraction, delta: Fraction) -> None:
    assert Drops(drops(epsilon, delta).masses[1:-1]).delta > delta


def test_what_is_left_is_the_expectation_rounded_down() -> None:
    found = drops(Fraction(1), Fraction(1, 100))
    for size in range(2 * found.middle + 4):
        left = sum(max(0, size - z) * Fraction(mass, found.total) for z, mass in enumerate(found.masses))
        assert found.kept(size, 20) == left * 2**20 // 1


def test_every_draw_has_its_mass() -> None:
    found = Drops((1, 3, 7, 3, 1))
    assert Counter(found.draw(partial(min, at)) for at in range(found.total)) == dict(enumerate(found.masses))


def test_parameters_that_are_too_small_are_refused() -> None:
    with pytest.raises(ValueError, match="rows would be removed"):
        drops(Fraction(1, 10**6), Fraction(1, 10**12))
    with pytest.raises(ValueError, match="above 0"):
        drops(Fraction(0), Fraction(1, 2))
