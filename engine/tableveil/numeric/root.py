"""The root of a function of one variable."""

import math
from collections.abc import Callable
from itertools import pairwise

STEPS = 100


def root(function: Callable[[float], float], low: float, high: float, precision: float = 1e-11) -> float:
    """A root of a continuous function with different signs at two points, by Ridders's method (1979).

    The precision is absolute below 1 and relative above.
    """
    at_low, at_high = function(low), function(high)
    for _ in range(STEPS):
        if at_low == 0 or at_high == 0 or abs(high - low) <= precision * (1 + abs(high)):
            break
        middle = (low + high) / 2
        at_middle = function(middle)
        span = math.sqrt(at_middle * at_middle - at_low * at_high)
        estimate = middle + (middle - low) * math.copysign(at_middle / span, at_middle * (at_low - at_high))
        at_found = function(estimate)
        # The two narrowest points between which the sign changes.
        points = sorted([(low, at_low), (middle, at_middle), (estimate, at_found), (high, at_high)])
        low, at_low, high, at_high = next(
            (*left, *right) for left, right in pairwise(points) if left[1] * right[1] <= 0
        )
    return low if abs(at_low) < abs(at_high) else high
