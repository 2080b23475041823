"""Moments and durations: the domain's moments are UTC without a zone, as DuckDB returns them."""

from datetime import datetime, timedelta
from typing import overload

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from tableveil.errors import InvalidError


def timestamp(moment: datetime | None) -> Timestamp | None:
    """The message for a moment, or None, which leaves a field unset."""
    if moment is None:
        return None
    message = Timestamp()
    message.FromDatetime(moment)
    return message


def moment(field: str, message: Timestamp) -> datetime:
    """The moment of a field; `InvalidError` if no clock shows it."""
    try:
        return message.ToDatetime()
    except (ValueError, OverflowError):
        actual, expected = "no moment", "seconds from the year 1 to 9999, and nanoseconds from 0 to 999999999"
        raise InvalidError.of("FILTER_INVALID", field, actual, expected) from None


@overload
def duration(seconds: float) -> Duration: ...
@overload
def duration(seconds: float | None) -> Duration | None: ...


def duration(seconds: float | None) -> Duration | None:
    """The message for so many seconds, to the microsecond, or None, which leaves a field unset."""
    if seconds is None:
        return None
    message = Duration()
    message.FromTimedelta(timedelta(seconds=seconds))
    return message
