"""Multiples equal those of Python's own numbers, even where 64 bits overflow and floats drift."""

from fractions import Fraction
from math import ceil, floor, prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tableveil.privacy.exact import below, floored

WHOLE = st.integers(1, 10**8)


@given(
    st.lists(st.integers(0, 10**8), min_size=1, max_size=4),
    st.lists(WHOLE, max_size=2),
    WHOLE,
    st.fractions(0, 10**6) | st.builds(Fraction, st.integers(1, 10**40), st.integers(1, 10**40)),
)
def test_as_python_computes_them(counts: list[int], others: list[int], divisor: int, ratio: Fraction) -> None:
    each = np.array(counts, np.int64)
    multiples = [count * prod(others) * ratio / divisor for count in counts]
    assume(max(multiples) < 2**62)
    assert floored(ratio, (each, *others), divisor).tolist() == [floor(multiple) for multiple in multiples]
    assert below(ratio, (each, *others), divisor).tolist() == [ceil(multiple) - 1 for multiple in multiples]


@pytest.mark.parametrize("digits", [9, 20, 40, 500])
@given(st.integers(1, 10**8), st.integers(1, 10**8))
def test_next_to_the_threshold(digits: int, quotient: int, divisor: int) -> None:
    """Where floats cannot tell one side from the other."""
    multiple, divisors = np.array([quotient * divisor]), np.array([divisor])
    for over, floor_, under in ((0, quotient, quotient - 1), (1, quotient, quotient), (-1, quotient - 1, quotient - 1)):
        # Too little to reach the next whole number.
        ratio = 1 + Fraction(over, 10**digits)
        assert floored(ratio, (multiple,), divisors).tolist() == [floor_]
        assert below(ratio, (multiple,), divisors).tolist() == [under]
        assert floored(ratio / divisor, (multiple,)).tolist() == [floor_]
        assert below(ratio / divisor, (multiple,)).tolist() == [under]


def test_nothing() -> None:
    assert floored(Fraction(3, 2), (np.array([], np.int64), 3)).tolist() == []
