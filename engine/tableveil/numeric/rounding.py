"""Sums over records, and their rounding: scores that are equal by definition must compare as equal."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGITS = 12
"""Decimal digits that are compared: sums of non-negative terms are correct to a few more."""

HARDLY = 10**12
"""A sum of quotients that is above a threshold by less than one part in so many counts as equal to it.

The relative error of such sums is smaller. The search and the verification share it (docs/explanations/models.md).
"""

SLACK = 10.0 ** (1 - DIGITS)
"""A share larger than the error by rounding to so many digits and the errors of sums together."""


def rounded(number: float) -> float:
    """The number rounded to the digits that are compared; keeps the order."""
    return float(f"{number:.{DIGITS}g}")


def rounded_down(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounds bounds down: if a bound is at most a number, so is the result at most that number's `rounded`."""
    return bounds * (1.0 - SLACK)


def rounded_part(part: float) -> float:
    """A part of a whole, from 0 to 1, rounded to as many decimal places as digits are compared.

    Differences of sums are correct to so many places, not to so many digits.
    """
    return round(min(max(part, 0.0), 1.0), DIGITS)


def rounded_part_down(part: float) -> float:
    """Rounds a bound down: if it is at most a part, so is the result at most that part's `rounded_part`."""
    return max(part - SLACK, 0.0)


Counts = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]


def weighted_sum(counts: Counts, values: NDArray[np.float64]) -> float:
    """The sum of `counts * values`.

    The operator `@` gives long arrays to the threads of BLAS, which wait in a loop for a free core: on a busy machine
    it took seventy times as long, and most of a search. The last digits of its sums depend on the number of cores.
    """
    return float(np.einsum("i,i", counts, values))
