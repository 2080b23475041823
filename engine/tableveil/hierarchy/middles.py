"""Numbers that stand for labels in statistics: an interval's middle, read from its text."""

import datetime
import re
from collections.abc import Callable

from tableveil.hierarchy.labelled import ValueKind
from tableveil.hierarchy.notation import Notation

_EPOCH = datetime.date(1970, 1, 1).toordinal()

# Intervals as Tableveil writes them, as ARX does, `[20, 40[`, and as people do, `20-39`.
_INTERVAL = re.compile(r"\[(?P<low>[^,]+), (?P<high>[^,]+)[\])\[]|(?P<from>[0-9.]+) ?- ?(?P<to>[0-9.]+)")
_OPEN = re.compile(r"(?:[<>]=?) ?(?P<end>[^ ].*)")
_PERIOD = re.compile(
    r"(?P<year>[0-9]{4})(?:(?P<decade>s)|-Q(?P<quarter>[1-4])|-(?P<month>[0-9]{2})|-W(?P<week>[0-9]{2}))?"
)

_NOTATIONS = {
    ValueKind.INTEGER: Notation.NUMBER,
    ValueKind.DECIMAL: Notation.NUMBER,
    ValueKind.FLOAT: Notation.NUMBER,
    ValueKind.DATE: Notation.DATE,
    ValueKind.TIMESTAMP: Notation.TIMESTAMP,
}
_SECONDS_PER_DAY = 86_400


def middle_reader(kind: ValueKind) -> Callable[[str], float | None] | None:
    """Makes a function from labels of a column of that kind to numbers; None if the kind has no numbers.

    Numbers stand for themselves, and so do dates and timestamps, as days since 1970-01-01. Intervals and periods stand
    for their middle, and open intervals such as `>= 90` for their end. The function returns None for a label without a
    number.
    """
    notation = _NOTATIONS.get(kind)
    if notation is None:
        return None

    def number(text: str) -> float | None:
        number_read = notation.read(text)
        if number_read is None:
            return None
        if notation is Notation.TIMESTAMP:
            # Timestamps count from the first day, which has the ordinal 1 as a date.
            return float(number_read / _SECONDS_PER_DAY + 1 - _EPOCH)
        return float(number_read - _EPOCH if notation is Notation.DATE else number_read)

    def middle(label: str) -> float | None:
        if notation in (Notation.DATE, Notation.TIMESTAMP) and (period := _PERIOD.fullmatch(label)):
            return _middle_of_period(period)
        if interval := _INTERVAL.fullmatch(label):
            low, high = number(interval["low"] or interval["from"]), number(interval["high"] or interval["to"])
            return None if low is None or high is None else low / 2 + high / 2
        if open_ended := _OPEN.fullmatch(label):
            return number(open_ended["end"])
        return number(label)

    return middle


def _middle_of_period(period: re.Match[str]) -> float | None:
    year = int(period["year"])
    try:
        if period["week"]:
            return datetime.date.fromisocalendar(year, int(period["week"]), 4).toordinal() - _EPOCH
        if period["month"]:
            first, months = datetime.date(year, int(period["month"]), 1), 1
        elif period["quarter"]:
            first, months = datetime.date(year, 3 * int(period["quarter"]) - 2, 1), 3
        else:
            first, months = datetime.date(year, 1, 1), 120 if period["decade"] else 12
        after = divmod(first.year * 12 + first.month - 1 + months, 12)
        last = datetime.date(after[0], after[1] + 1, 1).toordinal() - 1
    except ValueError:
        return None
    return (first.toordinal() + last) / 2 - _EPOCH
