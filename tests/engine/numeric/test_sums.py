"""Sums are those of Python, for whole numbers exactly."""

import numpy as np
import pytest

from tableveil.numeric.rounding import weighted_sum


def test_is_the_sum_of_products() -> None:
    counts, values = np.arange(100_000), np.full(100_000, 3.0)
    assert weighted_sum(counts, values) == 3 * sum(range(100_000))
    assert weighted_sum(np.array([2.0, 1.0]), np.array([0.1, 0.5])) == pytest.approx(0.7)
    assert weighted_sum(np.array([], np.int64), np.array([])) == 0.0
