"""Messages of results: their fields are the attributes of the same names, unless others are given."""

from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, cast

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.enums import enum_map
from tableveil.convert.names import job_name, result_name, table_to_proto
from tableveil.convert.times import duration, timestamp
from tableveil.policy import TableReference
from tableveil.state.kinds import JobKind

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
    if kind is None or isinstance(value, Message):
        return value
    return [copied(one, kind) for one in value] if isinstance(value, tuple) else copied(value, kind)
