"""Messages of results: their fields are the attributes of the same names, unless others are given."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.enums import enum_map
from tableveil.convert.names import job_name, result_name
from tableveil.convert.tables import table_to_proto
from tableveil.convert.times import duration, timestamp
from tableveil.policy import TableReference
from tableveil.state.kinds import JobKind

M = TypeVar("M", bound=Message)


def copied(value: Any, kind: type[M], **others: Any) -> M:
    """The message for a value; raises `AttributeError` if the value lacks one of its fields that is not given."""
    shared = {
        field.name: _field(getattr(value, field.name), field)
        for field in kind.DESCRIPTOR.fields
        if field.name not in others
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


def _field(value: Any, field: Any) -> Any:
    if isinstance(value, StrEnum):
        return enum_map(type(value)).to_proto(value)
    if isinstance(value, Decimal):
        return decimal_to_text(value)
    if isinstance(value, TableReference):
        return table_to_proto(value)
    if field.message_type is None or value is None or isinstance(value, Message):
        return value
    kind = GetMessageClass(field.message_type)
    return [copied(one, kind) for one in value] if isinstance(value, tuple) else copied(value, kind)
