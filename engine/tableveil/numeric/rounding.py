"""Scores that are equal by definition must compare as equal, however the sums behind them were grouped and rounded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIGITS = 12
"""Decimal digits that are compared: sums of non-negative terms are right to some more."""

SLACK = 10.0 ** (1 - DIGITS)
"""More, as a share, than rounding to so many digits and the errors of sums take away together."""


def rounded(number: float) -> float:
    """The number to as many digits as are compared; keeps the order."""
    return float(f"{number:.{DIGITS}g}")


def rounded_down(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Not above `rounded` of any number that a bound is not above, both being computed from non-negative terms."""
    return bounds * (1.0 - SLACK)


def rounded_part(part: float) -> float:
    """A part of a whole, from 0 to 1, to as many decimal places as digits are compared.

    What is made of differences of sums is right to so many places, not to so many digits.
    """
    return round(min(max(part, 0.0), 1.0), DIGITS)


def rounded_part_down(part: float) -> float:
    """Not above `rounded_part` of any part that this one is not above."""
    return max(part - SLACK, 0.0)
