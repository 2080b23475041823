"""The options of methods between proto and domain, both directions; most follow from their dataclass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from tableveil.convert.collect import Faults
from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.fields import from_message, to_message
from tableveil.convert.names import release_name
from tableveil.policy import METHODS, DifferentialPrivacy, LocalRecoding, Policy
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


def methods_to_proto(policy: Policy, message: policy_pb2.Policy) -> None:
    """Writes the options of the methods that a policy asks for."""
    for method in METHODS:
        if method.asked(policy):
            written = getattr(message, method.field)
            written.SetInParent()
            write: Callable[[Any, Any], None] = _WRITE.get(method.field, to_message)
            write(method.options(policy), written)


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


def _write_local_recoding(options: LocalRecoding, message: policy_pb2.LocalRecoding) -> None:
    message.most_levels.update(dict(options.most_levels))
    if options.classes_of is not None:
        message.classes_of = release_name(options.classes_of)


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


def _write_differential_privacy(options: DifferentialPrivacy, message: policy_pb2.DifferentialPrivacy) -> None:
    message.epsilon, message.delta = decimal_to_text(options.epsilon), decimal_to_text(options.delta)
    message.scheme.update(dict(options.scheme))
    if options.search_epsilon is not None:
        message.search_epsilon = decimal_to_text(options.search_epsilon)
    message.public_lists.extend(options.public_lists)
    message.people = options.people or 0


_READ: Mapping[str, Callable[[Any, Faults], Any]] = {
    "differential_privacy": _read_differential_privacy,
    "local_recoding": _read_local_recoding,
}
_WRITE: Mapping[str, Callable[[Any, Any], None]] = {
    "differential_privacy": _write_differential_privacy,
    "local_recoding": _write_local_recoding,
}
