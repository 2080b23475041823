"""Multiples of counts by a fraction, exact however large the numbers are, so that no threshold drifts."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

Factor = int | NDArray[np.int64]
"""A whole number, or one per element; at least one factor has elements."""

_SAFE = 2**62


def floored(ratio: Fraction, factors: Sequence[Factor], divisor: Factor = 1) -> NDArray[np.int64]:
    """The largest whole numbers that are not above ratio times the product of the factors by the divisor.

    `ratio` and factors are at least 0, the divisor at least 1, and results below 2**62.
    """
    return _divided(ratio, factors, divisor, lambda over, under: over // under)


def below(ratio: Fraction, factors: Sequence[Factor], divisor: Factor = 1) -> NDArray[np.int64]:
    """The largest whole numbers below that product; else as `floored`."""
    return _divided(ratio, factors, divisor, lambda over, under: -(-over // under) - 1)


def _divided(
    ratio: Fraction, factors: Sequence[Factor], divisor: Factor, divide: Callable[[Any, Any], Any]
) -> NDArray[np.int64]:
    over, under = ratio.as_integer_ratio()
    largest = over * reduce(mul, (max(1, _largest(factor)) for factor in factors))
    if largest < _SAFE and under * _largest(divisor) < _SAFE:
        quotient: NDArray[np.int64] = divide(reduce(mul, factors, over), divisor * under)
        return quotient
    estimate = reduce(mul, (factor * 1.0 for factor in factors), float(ratio)) / divisor
    quotient = np.floor(estimate).astype(np.int64)
    # Each step has a relative rounding error of at most 2**-53: it matters only next to a whole number.
    close = np.flatnonzero(np.abs(estimate - np.rint(estimate)) <= estimate * 1e-13)
    product = reduce(mul, (_exact(factor, close) for factor in factors), over)
    quotient[close] = divide(product, _exact(divisor, close) * under)
    return quotient


def _largest(factor: Factor) -> int:
    return factor if isinstance(factor, int) else int(factor.max(initial=0))


def _exact(factor: Factor, at: NDArray[np.intp]) -> Any:
    """The factor in Python's own numbers, which do not overflow."""
    return factor if isinstance(factor, int) else factor[at].astype(object)
