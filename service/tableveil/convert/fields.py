"""Dataclasses as messages and back: the fields of a message are those of its dataclass, by name and by type.

A field that is unset, or empty in a message that cannot tell the difference, is the dataclass's default; a default is
left unset.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from google.protobuf.message import Message

from tableveil.convert.collect import Faults
from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.enums import enum_map
from tableveil.policy.methods import ReleaseNumber

T = TypeVar("T")

LEAST_AMOUNT = Decimal("1e-9")
"""Replaces a required decimal that is missing: above 0, in any comparison. Metadata of a field may have another."""


def from_message(kind: type[T], message: Message, path: str, faults: Faults) -> T:
    """The dataclass for a message; placeholders replace parts whose faults are added to `faults`.

    Types of fields may be str, int, float, bool, Decimal, `ReleaseNumber` (the message has the release's name), an
    enum, a dataclass, one of these or None, and tuples; those of a map have its keys and values, in order of the keys.
    """
    types = get_type_hints(kind, include_extras=True)
    values = {
        field.name: _value(field, types[field.name], message, f"{path}.{field.name}", faults) for field in _of(kind)
    }
    return kind(**values)


def to_message(value: Any, message: Message) -> None:
    """Fills the message from the dataclass; the message is present even if every field is a default."""
    message.SetInParent()
    for field in _of(value):
        member = getattr(value, field.name)
        if member == field.default:
            continue
        if isinstance(member, tuple):
            _extend(getattr(message, field.name), member)
        elif is_dataclass(member):
            to_message(member, getattr(message, field.name))
        else:
            setattr(message, field.name, _plain(member))


def _of(kind: Any) -> tuple[Field[Any], ...]:
    return fields(kind)


def _value(field: Field[Any], of: Any, message: Message, path: str, faults: Faults) -> Any:
    stated = getattr(message, field.name)
    if get_origin(of) is tuple:
        is_map = isinstance(stated, Mapping)
        return tuple(sorted(stated.items()) if is_map else _members(get_args(of)[0], stated, path, faults))
    if get_origin(of) in (Union, UnionType):
        (of,) = (part for part in get_args(of) if part is not NoneType)
    required = field.default is MISSING
    default: Any = None if required else field.default
    if of == ReleaseNumber:
        return faults.release(stated, path) if stated or required else default
    if of is Decimal:
        if not stated and not required:
            return default
        placeholder = field.metadata.get("placeholder", LEAST_AMOUNT)
        return faults.required_decimal(stated, path, placeholder if default is None else default)
    if issubclass(of, StrEnum):
        member = faults.enum_or_none(stated, enum_map(of), path)
        return default if member is None else member
    if isinstance(of, type) and is_dataclass(of):
        unset = not required and default is None and not message.HasField(field.name)
        return None if unset else from_message(of, stated, path, faults)
    if message.DESCRIPTOR.fields_by_name[field.name].has_presence:
        return stated if message.HasField(field.name) else default
    return stated if stated or required else default


def _members(of: Any, stated: Any, path: str, faults: Faults) -> Iterator[Any]:
    if get_origin(of) is tuple:
        # A list in a list is a message with a single list in it.
        for member in stated:
            (inner,) = member.DESCRIPTOR.fields
            yield tuple(getattr(member, inner.name))
    elif isinstance(of, type) and is_dataclass(of):
        yield from (from_message(of, member, f"{path}[{i}]", faults) for i, member in enumerate(stated))
    elif issubclass(of, StrEnum):
        for i, number in enumerate(stated):
            read_member = enum_map(of).from_proto(number)
            if read_member is None:
                faults.add_enum(f"{path}[{i}]", number, enum_map(of))
            else:
                yield read_member
    else:
        yield from stated


def _extend(repeated: Any, members: tuple[Any, ...]) -> None:
    for member in members:
        if isinstance(member, tuple):
            entry = repeated.add()
            (inner,) = entry.DESCRIPTOR.fields
            getattr(entry, inner.name).extend(member)
        elif is_dataclass(member):
            to_message(member, repeated.add())
        else:
            repeated.append(_plain(member))


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return decimal_to_text(value)
    return enum_map(type(value)).to_proto(value) if isinstance(value, StrEnum) else value
