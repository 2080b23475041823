"""Roll-ups that are kept to count from: within the budgets, and the least useful one is dropped first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.classes import NumpyCounter
from tableveil.counting.roll_ups import RollUp, RollUps

MIB = 2**20


def of(rows: int, at: tuple[int, ...], size: int = MIB, in_arrays: bool = False) -> RollUp:
    arrays = NumpyCounter([], [], np.zeros(0, np.int64)) if in_arrays else None
    return RollUp(at, rows, size, None if in_arrays else "roll_up", arrays)


def roll_ups(budget: int = 2 * MIB) -> RollUps:
    return RollUps(RollUp((0, 0), 1000, 0, "base"), budget, budget)


def test_what_is_fine_enough_serves() -> None:
    kept = roll_ups()
    low, high = of(500, (1, 0)), of(100, (1, 1))
    kept.keep(low, 0)
    kept.keep(high, 0)
    assert kept.finer((0, 2)) == [kept.base]
    assert kept.finer((1, 0)) == [kept.base, low]
    assert kept.finer((2, 2)) == [kept.base, low, high]


def test_the_one_that_saves_the_fewest_rows_goes() -> None:
    """Not the one with the most rows: a roll-up that has a good substitute saves little."""
    kept = roll_ups()
    alone, substituted = of(400, (0, 1)), of(100, (2, 0))
    assert kept.keep(alone, 0) == []
    assert kept.keep(substituted, 0) == []
    assert kept.keep(of(110, (1, 0)), 0) == [substituted]
    assert alone in kept.kept


def test_the_one_that_was_not_used_for_long_goes() -> None:
    kept = roll_ups()
    used, unused = of(400, (0, 1)), of(300, (1, 0))
    kept.keep(used, 0)
    kept.keep(unused, 0)
    used.used = 9
    assert kept.keep(of(500, (1, 1)), 10) == [unused]


def test_arrays_and_tables_have_a_budget_each() -> None:
    kept = roll_ups()
    in_tables = [of(900, (0, 1)), of(900, (0, 2))]
    in_arrays = [of(100, (1, 1), in_arrays=True), of(100, (2, 1), in_arrays=True)]
    for roll_up in in_tables + in_arrays:
        assert kept.keep(roll_up, 0) == []
    assert kept.keep(of(10, (2, 2), in_arrays=True), 1)[0] in in_arrays
    assert kept.made == 5


def test_the_base_in_arrays_takes_of_their_budget_and_stays() -> None:
    kept = roll_ups()
    arrays = [of(100, (1, 1), in_arrays=True), of(90, (2, 1), in_arrays=True)]
    for roll_up in arrays:
        kept.keep(roll_up, 0)
    kept.base.arrays, kept.base.size = NumpyCounter([], [], np.zeros(0, np.int64)), MIB
    assert kept.drop(1, spared=kept.base) == [arrays[1]]
    assert kept.held(in_arrays=True) == 2 * MIB
    assert kept.fits(MIB, in_arrays=True)
    assert not kept.fits(MIB + 1, in_arrays=True)
    assert kept.fits(2 * MIB, in_arrays=False)


@pytest.mark.parametrize("in_arrays", [False, True])
@settings(max_examples=50, deadline=None)
@given(
    made=st.lists(
        st.tuples(st.integers(1, 999), st.tuples(st.integers(0, 3), st.integers(0, 3)), st.integers(0, 100)),
        max_size=30,
    )
)
def test_never_over_budget(in_arrays: bool, made: list[tuple[int, tuple[int, int], int]]) -> None:
    kept = roll_ups(budget=100)
    for now, (rows, at, size) in enumerate(made):
        new = of(rows, at, size, in_arrays)
        dropped = kept.keep(new, now)
        assert new in kept.kept
        assert not set(dropped) & set(kept.kept)
        assert kept.held(in_arrays) <= 100
        # No more than had to go: the last one dropped did not fit beside what is left.
        assert not dropped or kept.held(in_arrays) + dropped[-1].size > 100
