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
