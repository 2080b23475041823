"""Sums of logarithms keep their digits where quotients would not."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from tableveil.quality.model import bits, bits_lost, log_ratio


def test_bits_by_hand() -> None:
    assert bits(np.array([2, 2, 4, 0])) == 2 * 2 + 2 * 2 + 4 * 1
    assert bits(np.array([7, 0])) == 0
    assert bits(np.array([0])) == 0
    assert bits_lost(np.array([2, 2, 4, 0]), np.array([0, 0, 1, 1])) == 4 * 1


def test_a_quotient_close_to_1_keeps_its_digits() -> None:
    part, whole = 10**8 - 1, 10**8
    with localcontext(prec=50):
        exact = float((Decimal(whole) / Decimal(part)).ln() / Decimal(2).ln())
    assert float(log_ratio(part, whole)) == pytest.approx(exact, rel=1e-15, abs=0)
    assert math.log2(whole / part) != pytest.approx(exact, rel=1e-10, abs=0)
