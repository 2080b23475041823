"""Faults beside the inputs that they are about: the service names fields, and a form has inputs."""

import re
from collections.abc import Mapping, Sequence

from tableveil.errors import ConflictError, Fault, GuardedError, InfeasibleError, InvalidError, TableveilError

CORRECTABLE = (InvalidError, ConflictError, GuardedError, InfeasibleError)
"""Refusals that somebody can put right in the form that was sent."""

_WRAPPERS = re.compile(r"^((policy|proposal|worksheet|request)\.)+(?=.)")


def placed(error: TableveilError | Sequence[Fault] | None, inputs: Mapping[str, str]) -> dict[str, list[Fault]]:
    """The faults by the input that each is about; those of no input by "".

    `inputs` has a pattern of the service's fields for each input of the page.
    """
    if error is None:
        return {}
    if isinstance(error, TableveilError):
        faults: Sequence[Fault] = error.faults or [Fault("", error.message, "")]
    else:
        faults = error
    by_input: dict[str, list[Fault]] = {}
    for fault in faults:
        field = _WRAPPERS.sub("", fault.field)
        name = next((name for name, pattern in inputs.items() if re.fullmatch(pattern, field)), "")
        by_input.setdefault(name, []).append(fault)
    return by_input
