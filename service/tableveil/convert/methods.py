"""The options of methods, from the proto."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from tableveil.convert.collect import Faults
from tableveil.convert.fields import from_message
from tableveil.policy import METHODS, MethodTraits
from tableveil.policy.methods.related_tables import RELATED_TABLES
from tableveil.v1 import policy_pb2


def methods_from_proto(message: policy_pb2.Policy, faults: Faults) -> tuple[Any, ...]:
    """The options of each method that a policy asks for, but for related tables; faults are added to `faults`."""
    return tuple(
        from_message(method.kind, getattr(message, method.field), method.field, faults)
        for method in methods_stated(message)
        if method is not RELATED_TABLES
    )


def methods_stated(message: policy_pb2.Policy) -> tuple[MethodTraits[Any], ...]:
    """The methods that a policy asks for by their fields."""
    stated = {field.name for field, _ in message.ListFields()}
    return tuple(method for method in METHODS if method.field in stated)


def leave_out(message: policy_pb2.Policy, method: MethodTraits[Any]) -> None:
    """Takes a method out of a policy, with its options."""
    fields: Message = message
    fields.ClearField(method.field)


def lists_of_methods(message: policy_pb2.Policy) -> Iterator[tuple[str, str, int]]:
    """The lists in the options of a policy's methods: what they are, their fields, and their lengths."""
    for field in filter(None, (method.field for method in METHODS)):
        for listed, entries in getattr(message, field).ListFields():
            if listed.is_repeated:
                yield "method", f"{field}.{listed.name}", len(entries)
