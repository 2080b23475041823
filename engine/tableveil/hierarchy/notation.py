"""How bounds in a policy are written, and which day a value of a column lies on."""

from __future__ import annotations

import datetime
import re
from enum import Enum
from fractions import Fraction

# Keeps what is computed from bounds within a float's range, and below the length up to which Python reads integers.
_LONGEST = 300

_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
# `date.fromisoformat` also takes 20240305 and 2024-W10-2.
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?)?")


class Notation(Enum):
    """A way to write a bound; the value words what is expected of one."""

    INTEGER = "a plain integer such as -5"
    NUMBER = "a plain decimal number such as 20.5"
    DATE = "a date as YYYY-MM-DD"
    TIMESTAMP = "a date and time in UTC as YYYY-MM-DD HH:MM:SS"

    def read(self, text: str) -> Fraction | None:
        """What `text` stands for; None if it is not written this way.

        Dates stand for their proleptic ordinal, timestamps for the seconds from 0001-01-01 on. A date alone is the
        timestamp at its beginning.
        """
        if self is Notation.TIMESTAMP:
            return _read_time(text)
        if self is Notation.DATE:
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
    return Fraction(since // datetime.timedelta(microseconds=1), 10**6)


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
