"""Rounding keeps the order, makes sums in different orders equal, and bounds stay below."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tableveil.numeric.rounding import rounded, rounded_down

NUMBERS = st.floats(0, 1e18)


@given(NUMBERS, NUMBERS)
def test_keeps_the_order(first: float, second: float) -> None:
    low, high = sorted([first, second])
    assert rounded(low) <= rounded(high)


@given(NUMBERS, st.floats(-1e-13, 1e-13))
def test_a_bound_computed_with_errors_stays_below(number: float, error: float) -> None:
    assert rounded_down(np.array([number * (1 + error)]))[0] <= rounded(number)


def test_sums_in_another_order_are_equal() -> None:
    terms = [0.1, 0.2, 0.3]
    forwards, backwards = sum(terms), sum(reversed(terms))
    assert forwards != backwards
    assert rounded(forwards) == rounded(backwards)
