"""Ticks of an axis: round numbers, not too many."""

from __future__ import annotations

import math

MOST_TICKS = 9


def ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten that span `low` to `high`, as close as `MOST_TICKS` allow."""
    span = high - low
    if span <= 1e-9 * max(abs(low), abs(high), 1.0):
        # All values are equal in the precision of labels.
        span = max(abs(high), 1.0)
    power = 10.0 ** math.floor(math.log10(span / MOST_TICKS))
    for factor in (1, 2, 5, 10, 20):
        step = factor * power
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < MOST_TICKS:
            break
    return [i * step for i in range(first, max(last, first + 1) + 1)]


def label(value: float) -> str:
    """The number at a tick: `1,500`, `0.25`."""
    shown = f"{value:,.9f}".rstrip("0").rstrip(".") if abs(value) < 1e9 else f"{value:.3g}"
    return shown.replace("-", "\N{MINUS SIGN}")
