"""Messages of results, whose fields are the attributes of the same names unless others are given; moments in them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, cast, overload

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.enums import enum_map
from tableveil.convert.names import job_name, result_name, table_to_proto
from tableveil.errors import InvalidError
from tableveil.policy import TableReference
from tableveil.state.jobs import JobKind


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


M = TypeVar("M", bound=Message)

_PLAIN = {str, int, float, bool}


def copied(value: Any, kind: type[M], **others: Any) -> M:
    """The message for a value; raises `AttributeError` if the value lacks one of its fields that is not given."""
    shared = {
        name: _field(getattr(value, name), message) for name, message in _fields(cast(Any, kind)) if name not in others
    }
    return kind(**shared, **others)


def result_to_proto(kind: JobKind, found: Any, message: type[M], **others: Any) -> M:
    """The message for the result of a job of that kind."""
    return copied(
        found,
        message,
        name=result_name(kind, found.number),
        job=job_name(found.job),
        create_time=timestamp(found.created_at),
        duration=duration(found.seconds),
        **others,
    )


@cache
def _fields(kind: Any) -> list[tuple[str, type[Message] | None]]:
    """The names of a message's fields, with the messages that some of them hold."""
    return [
        (field.name, None if field.message_type is None else GetMessageClass(field.message_type))
        for field in kind.DESCRIPTOR.fields
    ]


def _field(value: Any, kind: type[Message] | None) -> Any:
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, StrEnum):
        return enum_map(type(value)).to_proto(value)
    if isinstance(value, Decimal):
        return decimal_to_text(value)
    if isinstance(value, TableReference):
        return table_to_proto(value)
    if kind is None or isinstance(value, Message | Mapping):
        return value
    return [copied(one, kind) for one in value] if isinstance(value, tuple) else copied(value, kind)
