"""How many rows a class loses: exact masses, so that no rounding breaks the promise.

Desfontaines, Voss, Gipson and Mandayam (2022): "Differentially private partition selection"; the mechanism is the
truncated two-sided geometric distribution, moved so that rows are only ever removed.
"""

import itertools
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tableveil.differential_privacy.exponential import power_of_e_below

Below = Callable[[int], int]
"""Draws a whole number from 0 to below its argument, all equally likely: `secrets.randbelow`, but in tests."""

MOST_REMOVED = 100_000
"""The largest T: with more the smallest epsilons and deltas would take memory without a bound."""

_PRECISION = 64
"""Bits after the point of e^epsilon, and of the smallest mass."""


@dataclass(frozen=True)
class Drops:
    """The distribution of Z, the rows that a class loses; it is symmetric about `middle`, T, from 0 to 2T.

    `masses[z]` is proportional to P(Z = z). The ratio of two neighbouring masses is at most e^epsilon. With one more
    person a class of n rows has n + 1, so what it keeps has probabilities that differ by this ratio, but for the masses
    at 0 and 2T: `delta`.
    """

    masses: tuple[int, ...]

    @property
    def middle(self) -> int:
        """T, the mean of Z."""
        return len(self.masses) // 2

    @cached_property
    def cumulated(self) -> tuple[int, ...]:
        """Proportional to P(Z <= z)."""
        return tuple(itertools.accumulate(self.masses))

    @property
    def total(self) -> int:
        """The sum of all masses."""
        return self.cumulated[-1]

    @property
    def delta(self) -> Fraction:
        """P(Z = 0), which is P(Z = 2T)."""
        return Fraction(self.masses[0], self.total)

    def draw(self, below: Below) -> int:
        """Z, drawn anew: every class needs a draw of its own."""
        return bisect_right(self.cumulated, below(self.total))

    def kept(self, records: int, bits: int) -> int:
        """floor(2^bits E[max(0, n - Z)]) of a class of n records: what is left of it on average."""
        if records > 2 * self.middle:
            return (records - self.middle) << bits
        # The sum over z < n of P(Z <= z).
        return (self._sums[records] << bits) // self.total

    @cached_property
    def _sums(self) -> tuple[int, ...]:
        return (0, *itertools.accumulate(self.cumulated))


def drops(epsilon: Fraction, delta: Fraction) -> Drops:
    """The drops of the least T for which P(Z = 0) is at most delta.

    Raises:
        ValueError: T would be above `MOST_REMOVED`; or a parameter is not above 0.
    """
    if epsilon <= 0 or delta <= 0:
        raise ValueError(f"epsilon {epsilon} and delta {delta} must be above 0")
    growth = power_of_e_below(epsilon, _PRECISION)
    # From 0 inwards: rounding down keeps each ratio at or below e^epsilon.
    masses = [1 << _PRECISION]
    outside = 0
    while masses[0] * delta.denominator > delta.numerator * (2 * outside + masses[-1]):
        if len(masses) > MOST_REMOVED:
            raise ValueError(f"more than {MOST_REMOVED:,} rows would be removed from each class")
        outside += masses[-1]
        masses.append((masses[-1] * growth) >> _PRECISION)
    return Drops((*masses, *masses[-2::-1]))
