"""Pitman's model of a population: unique records estimated by maximum likelihood."""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tableveil.numeric.root import root
from tableveil.risk.prosecutor import ClassSizes

Number = TypeVar("Number", float, NDArray[np.float64])

SMALLEST_ALPHA = 1e-6
"""Below it, the model is Ewens's, to which the estimate tends."""

LARGE_THETA = 1e5
"""From here on, logarithms of gamma functions are too large to be subtracted."""

DIRECT = 16
"""Below it, terms are added one by one; from there on the series has 14 digits."""


def pitman(class_sizes: ClassSizes, population: int) -> float | None:
    """Unique records of a population of that size, from a sample that has unique records. None if no parameters fit."""
    parameters = pitman_parameters(class_sizes)
    return None if parameters is None else expected_uniques(*parameters, population)


def expected_uniques(theta: float, alpha: float, population: int) -> float:
    """Unique records of a population of that size under the model, as it grows."""
    return math.exp(_log_gamma_ratio(theta, alpha) + alpha * math.log(population))


def pitman_parameters(class_sizes: ClassSizes) -> tuple[float, float] | None:
    """Theta and alpha that give a sample with unique records the highest probability by Pitman's sampling formula.

    Both derivatives of its logarithm are 0. None if there are no such parameters: all records of the sample are unique.

    Source: Hoshino 2001, "Applying Pitman's sampling formula to microdata disclosure risk assessment".
    """
    records, classes = int((class_sizes.sizes * class_sizes.classes).sum()), int(class_sizes.classes.sum())
    if classes == records:
        return None
    joining = Joining(class_sizes)

    def sum_for(alpha: float) -> float:
        """The sum of theta and alpha, above 0, at which the derivative by theta is 0."""

        def slope(logarithm: float) -> float:
            theta_alpha = math.exp(logarithm)
            new = reciprocals(theta_alpha / alpha, classes - 1) / alpha
            return new - reciprocals(theta_alpha - alpha + 1, records - 1)

        return math.exp(root(slope, math.log((1 - alpha) / records), math.log(records**2 + 1)))

    def slope(alpha: float) -> float:
        """The derivative by alpha, with the theta for it."""
        theta_alpha = sum_for(alpha)
        ratio = theta_alpha / alpha
        between = (classes - 1 - (ratio - 1) * reciprocals(ratio, classes - 1)) / alpha
        return between - joining.slope(alpha)

    low, high = SMALLEST_ALPHA, 1 - SMALLEST_ALPHA
    alpha = low if slope(low) <= 0 else root(slope, low, high)
    return sum_for(alpha) - alpha, alpha


class Joining:
    """The contribution of the classes' growth beyond one record to the derivative by alpha.

    It is the sum over all classes of 1 / (1 - alpha) + ... + 1 / (size - 1 - alpha). The terms between two sizes that
    occur are summed once, for all classes that reach the larger one.
    """

    def __init__(self, class_sizes: ClassSizes) -> None:
        reaching = np.cumsum(class_sizes.classes[::-1])[::-1]
        before = np.concatenate(([1], class_sizes.sizes[:-1]))
        small = before <= DIRECT
        self._small: list[tuple[int, int, int]] = list(
            zip(before[small].tolist(), class_sizes.sizes[small].tolist(), reaching[small].tolist(), strict=True)
        )
        self._before, self._after, self._reaching = before[~small], class_sizes.sizes[~small], reaching[~small]

    def slope(self, alpha: float) -> float:
        """The contribution."""
        few = sum(number * reciprocals(before - alpha, size - before) for before, size, number in self._small)
        start, end = self._before - alpha, self._after - alpha
        sums = np.log1p((end - start) / start) - _correction(end) + _correction(start)
        return few + float(self._reaching @ sums)


def reciprocals(start: float, terms: int) -> float:
    """1 / start + 1 / (start + 1) + ..., with so many terms; `start` is above 0.

    The sum is the difference of two digamma functions. It is computed from their asymptotic series, whose logarithms
    are subtracted first, so that nothing cancels out when the start is large.
    """
    total = 0.0
    while terms > 0 and start < DIRECT:
        total += 1 / start
        start += 1
        terms -= 1
    return total + math.log1p(terms / start) - _correction(start + terms) + _correction(start)


def _correction(x: Number) -> Number:
    """The logarithm minus the digamma function: its asymptotic series."""
    inverse = 1 / (x * x)
    return 1 / (2 * x) + inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))


def _log_gamma_ratio(theta: float, alpha: float) -> float:
    """The logarithm of gamma(theta + 1) / gamma(theta + alpha)."""
    if theta < LARGE_THETA:
        return math.lgamma(theta + 1) - math.lgamma(theta + alpha)
    return (1 - alpha) * (math.log(theta) + alpha / (2 * theta))
