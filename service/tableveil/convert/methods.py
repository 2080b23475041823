"""The options of methods, from the proto; most follow from their dataclass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from tableveil.convert.collect import Faults
from tableveil.convert.fields import from_message
from tableveil.policy import METHODS, DifferentialPrivacy, LocalRecoding
from tableveil.v1 import policy_pb2

_PLACEHOLDER = Decimal("0.5")


def methods_from_proto(message: policy_pb2.Policy, faults: Faults) -> dict[str, Any]:
    """The options by field, of the methods that a policy asks for; faults are added to `faults`."""
    stated = {field.name for field, _ in message.ListFields()}
    return {
        method.field: _READ[method.field](getattr(message, method.field), faults)
        if method.field in _READ
        else from_message(method.kind, getattr(message, method.field), method.field, faults)
        for method in METHODS
        if method.field in stated
    }


def lists_of_methods(message: policy_pb2.Policy) -> Iterator[tuple[str, str, int]]:
    """The lists in the options of a policy's methods: what they are, their fields, and their lengths."""
    for field in filter(None, (method.field for method in METHODS)):
        for listed, entries in getattr(message, field).ListFields():
            if listed.is_repeated:
                yield "method", f"{field}.{listed.name}", len(entries)


def _read_local_recoding(message: policy_pb2.LocalRecoding, faults: Faults) -> LocalRecoding:
    name = message.classes_of
    classes_of = faults.release(name, "local_recoding.classes_of") if name else None
    return LocalRecoding(tuple(sorted(message.most_levels.items())), classes_of)


def _read_differential_privacy(message: policy_pb2.DifferentialPrivacy, faults: Faults) -> DifferentialPrivacy:
    field = "differential_privacy"
    stated = {"epsilon": message.epsilon, "delta": message.delta}
    epsilon, delta = (faults.required_decimal(text, f"{field}.{name}", _PLACEHOLDER) for name, text in stated.items())
    return DifferentialPrivacy(
        epsilon=epsilon,
        delta=delta,
        scheme=tuple(sorted(message.scheme.items())),
        search_epsilon=faults.decimal(message.search_epsilon, f"{field}.search_epsilon"),
        public_lists=tuple(message.public_lists),
        people=message.people or None,
    )


_READ: Mapping[str, Callable[[Any, Faults], Any]] = {
    "differential_privacy": _read_differential_privacy,
    "local_recoding": _read_local_recoding,
}
