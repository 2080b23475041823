"""The drawn transformation: its distribution beside the enumerated one, its bounds, and its exact trials."""

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.differential_privacy.fit import ATTRIBUTES, LEAST, LEVELS, drawn, fit, probabilities, random_table
from tableveil.differential_privacy import Drops, Gains, draw_transformation, drops, eta
from tableveil.differential_privacy.exponential import succeeds
from tableveil.lattice import Lattice

RUNS, FEW, EPSILON = 1_200, 500, Fraction(1, 10)


def _random_gains(seed: int, attributes: int, removed: Drops) -> tuple[Gains, Lattice]:
    """Nested groups of 8 values, and values that fall with the level."""
    numbers = np.random.default_rng(seed)
    groups, values, codes = [], [], []
    for _ in range(attributes):
        groups.append(tuple((np.arange(8) >> level).astype(np.int32) for level in range(4)))
        falling = np.sort(numbers.integers(0, (1 << 28) // attributes, 4))[::-1]
        values.append(tuple(np.full(8, value) for value in falling))
        codes.append(np.minimum(numbers.geometric(0.4, 60) - 1, 7).astype(np.int32))
    gains = Gains(groups, values, codes, numbers.integers(1, 9, 60).astype(np.int64), removed)
    return gains, Lattice((0,) * attributes, (3,) * attributes)


@pytest.mark.parametrize(
    ("seed", "attributes", "epsilon"),
    [
        (1, 2, "1/10"),
        pytest.param(2, 3, "1/50", marks=pytest.mark.long),
        pytest.param(3, 3, "2", marks=pytest.mark.long),
    ],
)
def test_the_draw_follows_the_enumerated_distribution(seed: int, attributes: int, epsilon: str) -> None:
    gains, lattice = _random_gains(seed, attributes, drops(Fraction(1), Fraction(1, 100)))
    counts = drawn(gains, lattice, eta(Fraction(epsilon), gains.range), RUNS, random.Random(seed).randrange)
    assert fit(probabilities(gains, lattice, Fraction(epsilon)), counts)[0] > LEAST


@pytest.mark.long
def test_the_draw_among_thousands_follows_the_distribution_and_a_wrong_constant_does_not() -> None:
    gains, lattice = random_table(1, LEVELS, ATTRIBUTES, drops(Fraction(1), Fraction(1, 100)))
    expected, rate = probabilities(gains, lattice, EPSILON), eta(EPSILON, gains.range)
    assert len(expected) > 4_000
    right, wrong = (drawn(gains, lattice, part * rate, FEW, random.Random(2).randrange) for part in (1, Fraction(1, 2)))
    assert fit(expected, right)[0] > LEAST > fit(expected, wrong)[0]


def test_linked_attributes_have_the_same_level() -> None:
    gains, lattice = _random_gains(4, 3, drops(Fraction(1), Fraction(1, 100)))
    linked = Lattice(lattice.bottom, lattice.top, ((0, 2), (1,)))
    rate = eta(Fraction(1, 100), gains.range)
    drawn = {draw_transformation(gains, linked, rate, random.Random(5).randrange) for _ in range(20)}
    assert all(x[0] == x[2] for x in drawn)


def test_no_transformation_gains_more_than_the_bound_of_its_interval() -> None:
    gains, lattice = _random_gains(6, 3, drops(Fraction(1, 2), Fraction(1, 1000)))
    for hi in lattice:
        for lo in lattice:
            if all(a <= b for a, b in zip(lo, hi, strict=True)):
                assert gains.check(lo).gain <= gains.check(hi).bound(lo)


def test_gains_are_those_of_the_formula() -> None:
    removed = drops(Fraction(1), Fraction(1, 100))
    groups = ((np.array([0, 1], np.int32), np.array([0, 0], np.int32)),)
    values = ((np.array([1 << 28, 1 << 28]), np.array([1 << 27, 1 << 27])),)
    gains = Gains(groups, values, (np.array([0, 1], np.int32),), np.array([9, 4], np.int64), removed)

    def left(size: int) -> Fraction:
        return sum(
            (max(0, size - z) * Fraction(mass, removed.total) for z, mass in enumerate(removed.masses)), Fraction()
        )

    assert float(Fraction(gains.check((0,)).gain, 1 << 68)) == pytest.approx(float(left(9) + left(4)))
    assert float(Fraction(gains.check((1,)).gain, 1 << 68)) == pytest.approx(float(left(13) / 2))


def test_a_table_without_records_has_no_gain() -> None:
    gains, lattice = _random_gains(7, 2, drops(Fraction(1), Fraction(1, 10)))
    empty = Gains(gains._groups, gains._values, [c[:0] for c in gains._codes], gains._records[:0], gains.drops)
    assert {
        draw_transformation(empty, lattice, eta(Fraction(1), empty.range), random.Random(s).randrange)
        for s in range(99)
    }
    assert empty.check(lattice.top).gain == 0


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(2), Fraction(7, 2)])
def test_a_trial_succeeds_by_the_power_of_a_half(exponent: Fraction) -> None:
    below, runs = random.Random(8).randrange, 4_000
    succeeded, expected = sum(succeeds(exponent, below) for _ in range(runs)), runs * 2.0**-exponent
    assert abs(succeeded - expected) <= 4 * (expected * (1 - 2.0**-exponent)) ** 0.5


def test_a_trial_decides_at_the_very_edge() -> None:
    # All digits of 2^-1/2, one after the other, but for the last one.
    root = math.isqrt(1 << 511)
    for last, expected in ((-1, True), (1, False)):
        digits = [(root + last) >> shift & ((1 << 64) - 1) for shift in range(192, -1, -64)]
        drawn = iter(digits)

        def below(_: int, drawn: Iterator[int] = drawn) -> int:
            return next(drawn)

        assert succeeds(Fraction(1, 2), below) is expected
