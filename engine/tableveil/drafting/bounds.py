"""Round numbers around a range: a draft shows bounds of the data, and never its extremes."""

import calendar
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
    finer = [finest]
    while finer[-1] * 4 <= span:
        finer.append(finer[-1] * 2)
    return finer


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


def within(
    least: Decimal, greatest: Decimal, low: Decimal | None, high: Decimal | None, spans: int
) -> tuple[Decimal, Decimal]:
    """The range without the ends that are further from the outer hundredths than so many spans between these."""
    if low is None or high is None:
        return least, greatest
    span = high - low
    return max(least, low - spans * span), min(greatest, high + spans * span)


def months_around(
    minimum: str | None, maximum: str | None, low: str | None, high: str | None, spans: int
) -> tuple[str, str] | None:
    """The first day of the first day's month and the last of the last day's, of a range as in `within`."""
    days = [Decimal(day.toordinal()) for day in _days(minimum, maximum)]
    outer = [Decimal(day.toordinal()) for day in _days(low, high)]
    if len(days) < 2:
        return None
    lower, upper = outer if len(outer) == 2 else (None, None)
    ends = within(days[0], days[1], lower, upper, spans)
    first, last = (datetime.date.fromordinal(int(day)) for day in ends)
    end = calendar.monthrange(last.year, last.month)[1]
    return f"{first.year:04d}-{first.month:02d}-01", f"{last.year:04d}-{last.month:02d}-{end:02d}"


def years_around(minimum: str | None, maximum: str | None, *, births: bool) -> tuple[str, str] | None:
    """The first day of the first day's year and the last of the year after the last day's; None beyond years 1 to 9999.

    Later days come with time; of `births`, earlier ones come with older people. Both are dates, or timestamps, as the
    database writes them.
    """
    days = list(_days(minimum, maximum))
    if len(days) < 2:
        return None
    first = max(1, days[0].year // 10 * 10) if births else days[0].year
    return f"{first:04d}-01-01", f"{min(9999, days[1].year + 1):04d}-12-31"


def _days(*texts: str | None) -> Iterator[datetime.date]:
    for text in texts:
        try:
            # A date before year 1 ends with (BC), and years beyond 9999 have more digits.
            yield datetime.date.fromisoformat("" if text is None or "BC" in text else text.partition(" ")[0])
        except ValueError:
            return
