"""The notations of bounds in a policy, and the day or microsecond of a column's values."""

import datetime
import re
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

# Keeps results computed from bounds within a float's range, and below the length up to which Python reads integers.
_LONGEST = 300

_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
# `date.fromisoformat` also takes 20240305 and 2024-W10-2.
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?)?")
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.][0-9]+)?")
_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")
_DURATION = re.compile(r"([0-9]{1,9}) (second|minute|hour|day|week)s?")
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}

MICROSECONDS = 10**6
"""Microseconds per second."""


class Notation(Enum):
    """A notation of bounds; the enum's value describes it in messages."""

    INTEGER = "a plain integer such as -5"
    NUMBER = "a plain decimal number such as 20.5"
    DATE = "a date as YYYY-MM-DD"
    TIMESTAMP = "a date and time in UTC as YYYY-MM-DD HH:MM:SS"
    TIME_OF_DAY = "a time of day as HH:MM or HH:MM:SS, before 24:00"
    DURATION = "a number of seconds, minutes, hours, days or weeks such as '15 minutes'"

    def read(self, text: str) -> Fraction | None:
        """The number that `text` denotes; None if it is not in this notation.

        Dates denote their proleptic ordinal, timestamps the seconds since 0001-01-01, times of day the seconds since
        midnight, durations their seconds. A date alone denotes the timestamp at its beginning.
        """
        match self:
            case Notation.TIMESTAMP:
                return _read_time(text)
            case Notation.TIME_OF_DAY:
                return _read_time_of_day(text)
            case Notation.DURATION:
                return _read_duration(text)
            case Notation.DATE:
                day = _read_day(text)
                return None if day is None else Fraction(day)
        pattern = _INTEGER if self is Notation.INTEGER else _NUMBER
        return Fraction(text) if len(text) <= _LONGEST and pattern.fullmatch(text) else None


def _read_day(text: str) -> int | None:
    if not _DAY.fullmatch(text):
        return None
    try:
        return datetime.date.fromisoformat(text).toordinal()
    except ValueError:
        return None


def _read_time(text: str) -> Fraction | None:
    if not _TIME.fullmatch(text):
        return None
    try:
        since = datetime.datetime.fromisoformat(text) - datetime.datetime.min
    except ValueError:
        return None
    return Fraction(since // datetime.timedelta(microseconds=1), MICROSECONDS)


def _read_time_of_day(text: str) -> Fraction | None:
    match = _TIME_OF_DAY.fullmatch(text)
    if not match:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return Fraction(hours * 3_600 + minutes * 60 + seconds)


def _read_duration(text: str) -> Fraction | None:
    match = _DURATION.fullmatch(text)
    return Fraction(int(match[1]) * _SECONDS[match[2]]) if match else None


def seconds_of_day(text: str) -> int | None:
    """The whole seconds from midnight to a TIME as DuckDB writes it; None for 24:00:00, which is in no day."""
    match = _CLOCK.fullmatch(text)
    if not match:
        return None
    hours, minutes, seconds = map(int, match.groups())
    return hours * 3_600 + minutes * 60 + seconds if hours < 24 else None


NO_TIME = -1
"""Stands for values that lie on no day that Python knows."""

_MICROSECOND = datetime.timedelta(microseconds=1)


def microseconds_of(values: Sequence[object], texts: Sequence[str]) -> NDArray[np.int64]:
    """The microseconds from 0001-01-01 to each timestamp; `NO_TIME` for infinities and years beyond Python's.

    Args:
        values: The values in UTC and without a time zone, as DuckDB gives them to Python.
        texts: The values as text, which tells infinities apart.
    """
    # Many times faster than numpy's own reading of datetimes.
    microseconds = (
        (value - datetime.datetime.min) // _MICROSECOND
        if isinstance(value, datetime.datetime) and not text.endswith("infinity")
        else NO_TIME
        for value, text in zip(values, texts, strict=True)
    )
    return np.fromiter(microseconds, np.int64, len(texts))


def day_of(value: object, text: str) -> int | None:
    """The proleptic ordinal of the day that a date or timestamp lies on, in UTC if it knows its time zone.

    Args:
        value: The value as DuckDB gives it to Python: years beyond 9999 and before 1 arrive as str.
        text: The value as text: infinities arrive as the first and last date, and only their text tells them apart.

    Returns:
        The ordinal, or None for infinities and years that Python's dates do not reach.
    """
    if not isinstance(value, datetime.date) or text.endswith("infinity"):
        return None
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        try:
            return value.astimezone(datetime.UTC).toordinal()
        except OverflowError:
            return None
    return value.toordinal()
