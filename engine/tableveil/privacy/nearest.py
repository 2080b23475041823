"""The nearest parameter that would hold, from the parameter that each class meets."""

import math
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

DIGITS = 4
"""Decimal places of an offered parameter: it is rounded to the lenient side, so that it holds."""


def highest_for(reached: NDArray[np.float64], counts: NDArray[np.int64], suppressible: int) -> float | None:
    """The largest value in `reached` such that at most so many records are in classes that reach less."""
    order = np.argsort(reached, kind="stable")
    lost = np.cumsum(counts[order])
    over = np.flatnonzero(lost > suppressible)
    # The first class that can no longer be suppressed has to hold.
    return float(reached[order[over[0]]]) if len(over) else None


def lowest_for(reached: NDArray[np.float64], counts: NDArray[np.int64], suppressible: int) -> float | None:
    """The smallest value in `reached` such that at most so many records are in classes that reach more."""
    highest = highest_for(-reached, counts, suppressible)
    return None if highest is None else -highest


def floored(number: float) -> str:
    """The largest decimal with few places that is not above the number."""
    return _spelled(math.floor(number * 10**DIGITS))


def ceiled(number: float) -> str:
    """The smallest decimal with few places that is not below the number."""
    return _spelled(math.ceil(number * 10**DIGITS))


def _spelled(ten_thousandths: int) -> str:
    return f"{Decimal(ten_thousandths).scaleb(-DIGITS).normalize():f}"
