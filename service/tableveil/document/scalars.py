"""Converts one scalar's text to the type of its field."""

import math
import re

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from tableveil.document.nodes import RefusedNode
from tableveil.errors import nearest, shortened

Value = str | int | float | bool

# No leading zeros: 010 may be meant as eight.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 400

_RANGES = {FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1), FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1)}


def convert_scalar(field: FieldDescriptor, text: str) -> Value | RefusedNode:
    """The value of a field that is neither a message nor repeated, or the fault of the text."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            return _string(text)
        case FieldDescriptor.CPPTYPE_BOOL:
            return text == "true" if text in ("true", "false") else RefusedNode(shortened(text), "true or false")
        case FieldDescriptor.CPPTYPE_INT32 | FieldDescriptor.CPPTYPE_INT64:
            return _integer(text, *_RANGES[field.cpp_type])
        case FieldDescriptor.CPPTYPE_DOUBLE:
            return _number(text)
        case FieldDescriptor.CPPTYPE_ENUM:
            assert field.enum_type is not None
            return _enum(field.enum_type, text)
    raise NotImplementedError(f"policies have no fields of the type of {field.full_name}")


def _string(text: str) -> str | RefusedNode:
    try:
        text.encode()
    except UnicodeEncodeError:
        return RefusedNode("half of a surrogate pair", "Unicode text", r"Beyond \uFFFF, JSON takes two escapes.")
    return text


def _integer(text: str, least: int, greatest: int) -> int | RefusedNode:
    if not _INTEGER.fullmatch(text):
        return RefusedNode(shortened(text), "a whole number in plain decimal digits")
    number = int(text)
    return number if least <= number <= greatest else RefusedNode(text, f"a whole number from {least} to {greatest}")


def _number(text: str) -> float | RefusedNode:
    number = float(text) if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else RefusedNode(shortened(text), "a finite decimal number")


def enum_prefix(enum: EnumDescriptor) -> str:
    """The common prefix of an enum's names; documents leave it out."""
    return enum.values_by_number[0].name.removesuffix("UNSPECIFIED")


def _enum(enum: EnumDescriptor, text: str) -> int | RefusedNode:
    prefix = enum_prefix(enum)
    # Only ASCII, because upper() makes ASCII letters of some others.
    name = text.upper() if text.isascii() else ""
    value = enum.values_by_name.get(name) or enum.values_by_name.get(prefix + name)
    if value is not None:
        return value.number
    names = [held_value.name.removeprefix(prefix) for held_value in enum.values if held_value.number != 0]
    return RefusedNode(shortened(text), f"one of {', '.join(names)}", nearest(text, names))
