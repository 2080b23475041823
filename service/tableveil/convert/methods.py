"""The options of methods between proto and domain, both directions: one entry for each method's field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from tableveil.convert.collect import Faults
from tableveil.convert.fields import from_message, to_message
from tableveil.convert.names import release_name
from tableveil.policy import LocalRecoding, Microaggregation, Policy, RecordLevel
from tableveil.v1 import policy_pb2

_Field = Literal["record_level", "local_recoding", "microaggregation"]


def methods_from_proto(message: policy_pb2.Policy, faults: Faults) -> dict[str, Any]:
    """The options by field, of the methods that a policy asks for; faults are added to `faults`."""
    return {field: read(getattr(message, field), faults) for field, read in _READ.items() if message.HasField(field)}


def methods_to_proto(policy: Policy, message: policy_pb2.Policy) -> None:
    """Writes the options of the methods that a policy asks for."""
    for field, write in _WRITE.items():
        options, written = getattr(policy, field), getattr(message, field)
        if options is not None:
            written.SetInParent()
            write(options, written)


def _read_local_recoding(message: policy_pb2.LocalRecoding, faults: Faults) -> LocalRecoding:
    name = message.classes_of
    classes_of = faults.release(name, "local_recoding.classes_of") if name else None
    return LocalRecoding(tuple(sorted(message.most_levels.items())), classes_of)


def _write_local_recoding(options: LocalRecoding, message: policy_pb2.LocalRecoding) -> None:
    message.most_levels.update(dict(options.most_levels))
    if options.classes_of is not None:
        message.classes_of = release_name(options.classes_of)


_READ: Mapping[_Field, Callable[[Any, Faults], Any]] = {
    "record_level": lambda message, faults: from_message(RecordLevel, message, "record_level", faults),
    "local_recoding": _read_local_recoding,
    "microaggregation": lambda message, faults: from_message(Microaggregation, message, "microaggregation", faults),
}
_WRITE: Mapping[_Field, Callable[[Any, Any], None]] = {
    "record_level": to_message,
    "local_recoding": _write_local_recoding,
    "microaggregation": to_message,
}
