"""Fields of a policy that are set by their paths, over what its document says."""

import re
from typing import Any

from tableveil.document.read import read_field
from tableveil.errors import Fault, nearest, shortened
from tableveil.v1 import policy_pb2

_STEP = re.compile(r"(\w+)(?:\[([0-9]{1,9})\])?")


def set_field(policy: policy_pb2.Policy, path: str, value: str) -> list[Fault]:
    """Sets the field at a path such as `attributes[2].levels.min` to a value in YAML, and returns the faults.

    `null` takes the field out of the policy.
    """
    message: Any = policy
    *steps, last = path.split(".")
    for step in steps:
        match = _STEP.fullmatch(step)
        field = message.DESCRIPTOR.fields_by_name.get(match[1]) if match else None
        if match is None or field is None or field.message_type is None or field.is_repeated != bool(match[2]):
            return [_unknown(path, step, message)]
        message = getattr(message, field.name)
        if field.is_repeated:
            if int(match[2]) >= len(message):
                return [Fault(path, f"{shortened(step)}, where there are {len(message)}", "one of them, from 0 on")]
            message = message[int(match[2])]
    field = message.DESCRIPTOR.fields_by_name.get(last)
    if field is None:
        return [_unknown(path, last, message)]
    return read_field(message, field, value, path)


def _unknown(path: str, step: str, message: Any) -> Fault:
    names = list(message.DESCRIPTOR.fields_by_name)
    hint = nearest(step, names) if step not in names else ""
    hint = hint or "A path is like privacy_models[0].k_anonymity.k: a list has a position, from 0 on."
    return Fault(path, f"{shortened(step)}, which is no such field there", f"one of {', '.join(names)}", hint)
