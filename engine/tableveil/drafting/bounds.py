"""Round numbers around a range: a draft shows bounds of the data, and never its extremes."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation

INTERVALS_WANTED = 20
"""The finest intervals have the least round width with at most about this number of them over the range."""

_STEPS = (Decimal(1), Decimal(2), Decimal(5), Decimal(10))


def round_width(span: Decimal) -> Decimal:
    """The least of 1, 2, 5, 10, 20, … and tenths of them that is at least the span / `INTERVALS_WANTED`."""
    least = span / INTERVALS_WANTED
    power = Decimal(1).scaleb(least.adjusted())
    return next(step * power for step in _STEPS if step * power >= least)


def widths(finest: Decimal, span: Decimal) -> list[Decimal]:
    """The finest width and its doubles, up to the last of which two do not yet cover the range."""
    found = [finest]
    while found[-1] * 4 <= span:
        found.append(found[-1] * 2)
    return found


def outwards(least: Decimal, greatest: Decimal, width: Decimal) -> tuple[Decimal, Decimal]:
    """The nearest multiples of a width that enclose a range; the two always differ."""
    below = (least / width).to_integral_value(ROUND_FLOOR) * width
    above = (greatest / width).to_integral_value(ROUND_CEILING) * width
    return below, max(above, below + width)


def plain(number: Decimal) -> str:
    """A number without an exponent and without redundant zeros."""
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def number_of(text: str | None) -> Decimal | None:
    """The number that a text holds; None if it holds no finite number."""
    if text is None:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def years_around(minimum: str | None, maximum: str | None) -> tuple[str, str] | None:
    """The first day of the first day's year and the last day of the last day's year; None beyond years 1 to 9999.

    Both are dates, or timestamps, as the database writes them.
    """
    days = list(_days(minimum, maximum))
    if len(days) < 2:
        return None
    return f"{days[0].year:04d}-01-01", f"{days[1].year:04d}-12-31"


def _days(*texts: str | None) -> Iterator[datetime.date]:
    for text in texts:
        try:
            # A date before year 1 ends with (BC), and years beyond 9999 have more digits.
            yield datetime.date.fromisoformat("" if text is None or "BC" in text else text.partition(" ")[0])
        except ValueError:
            return
