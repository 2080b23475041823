"""Draws a transformation x with a probability proportional to exp(epsilon u(x)), exactly, without listing all.

The base-2 exponential mechanism (Ilvento 2020) draws x in proportion to 2^(eta u(x)). Adding a person never lowers a
gain and raises it by the range at most, so that no factor of 1/2 is needed. The draw is by adaptive rejection: an
interval of the lattice weighs its number of transformations times 2^-floor(eta (U0 - bound)), which is at least what
its transformations weigh. An open interval is drawn by weight and split down to one transformation, and each split
keeps or rejects by the weights of its parts. So in every trial a transformation is accepted with a probability
proportional to its weight, whatever was split before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tableveil.differential_privacy.drops import Below
from tableveil.differential_privacy.exponential import over_log_2_below, succeeds
from tableveil.differential_privacy.gains import CountedTransformation, Gains
from tableveil.lattice import Axis, Lattice, Transformation

_PRECISION = 192
"""Bits after the point of eta: a range has fewer than 70."""

_WINDOW = 256
"""An interval weighs at least 2^-256 of the heaviest one of equal size; the trial at its end makes up for it."""


def eta(epsilon: Fraction, range_: int) -> Fraction:
    """A rational at most epsilon/(range ln 2)."""
    return Fraction(over_log_2_below(epsilon / range_, _PRECISION), 1 << _PRECISION)


@dataclass(frozen=True, slots=True)
class _Interval:
    """The transformations from `lo` to `hi`, whose classes were counted; none has a larger gain than `bound`.

    Each weighs 2^-`exponent` at most.
    """

    lo: Transformation
    hi: Transformation
    bound: int
    size: int
    exponent: int


def draw_transformation(
    gains: Gains, lattice: Lattice, rate: Fraction, below: Below, watch: Callable[[], None] = lambda: None
) -> Transformation:
    """A transformation x of the lattice, with a probability proportional to 2^(rate u(x)).

    `rate` is the `eta` of the gains. `watch` is called before each check; it may raise an error to stop the draw.
    """
    return _Draw(gains, lattice, rate, below, watch).run()


class _Draw:
    def __init__(self, gains: Gains, lattice: Lattice, rate: Fraction, below: Below, watch: Callable[[], None]) -> None:
        self._gains, self._lattice, self._rate, self._below, self._watch = gains, lattice, rate, below, watch
        # Any bound of all gains would do.
        self._top = gains.check(lattice.top).bound(lattice.bottom)
        self._open = [self._interval(lattice.bottom, lattice.top, self._top)]

    def run(self) -> Transformation:
        while (drawn := self._trial()) is None:
            pass
        return drawn

    def _trial(self) -> Transformation | None:
        """One trial; None if it rejects."""
        least = min(interval.exponent for interval in self._open)
        weights = [_weight(interval, least) for interval in self._open]
        at, drawn = _pick(weights, self._below(sum(weights)))
        interval = self._open[at]
        while interval.size > 1:
            parts = self._split(interval)
            self._open[at] = parts[0]
            self._open.append(parts[1])
            weights = [_weight(part, least) for part in parts]
            if drawn >= sum(weights):
                return None
            side, drawn = _pick(weights, drawn)
            at, interval = (at, parts[0]) if side == 0 else (len(self._open) - 1, parts[1])
        exact = self._rate * (self._top - interval.bound)
        return interval.lo if succeeds(exact - min(interval.exponent, least + _WINDOW), self._below) else None

    def _interval(self, lo: Transformation, hi: Transformation, bound: int) -> _Interval:
        if hi not in self._gains.checked:
            self._watch()
        checked = self._gains.check(hi)
        bound = checked.gain if lo == hi else min(checked.bound(lo), bound)
        return _Interval(lo, hi, bound, self._lattice.count(lo, hi), int(self._rate * (self._top - bound)))

    def _split(self, interval: _Interval) -> tuple[_Interval, _Interval]:
        """The lower part, which needs a check, and the upper part, which keeps the checked end."""
        axis, level = self._cut(interval, self._gains.check(interval.hi))
        lower = self._interval(interval.lo, self._lattice.moved(interval.hi, axis, level), interval.bound)
        upper = self._interval(self._lattice.moved(interval.lo, axis, level + 1), interval.hi, interval.bound)
        return lower, upper

    def _cut(self, interval: _Interval, checked: CountedTransformation) -> tuple[Axis, int]:
        """The axis and the last level of the lower part. Any cut would do.

        It is where the fall of the upper part's bound, times the levels that the lower part loses, is the largest.
        """
        lo, hi = interval.lo, interval.hi

        def worth(cut: tuple[Axis, int]) -> int:
            axis, level = cut
            fall = sum(checked.parts[j][lo[j]] - checked.parts[j][level + 1] for j in axis)
            return fall * (hi[axis[0]] - level)

        cuts = ((axis, level) for axis in self._lattice.axes for level in range(lo[axis[0]], hi[axis[0]]))
        return max(cuts, key=worth)


def _weight(interval: _Interval, least: int) -> int:
    return interval.size << (_WINDOW - min(interval.exponent - least, _WINDOW))


def _pick(weights: list[int], drawn: int) -> tuple[int, int]:
    """The position that a number below the sum of the weights falls on, and what is left of the number."""
    for at, weight in enumerate(weights):
        if drawn < weight:
            return at, drawn
        drawn -= weight
    raise ValueError("the number is not below the sum of the weights")
