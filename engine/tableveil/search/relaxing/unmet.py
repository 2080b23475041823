"""Requirements that are judged independently of each other: each one that is not met must be relaxed, all together."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

from tableveil.errors import Change, Fault, InfeasibleError, Relaxation
from tableveil.policy import PRIVACY_FIELDS, PrivacyModel
from tableveil.privacy.registry import grids
from tableveil.privacy.steps import UnitSteps, spell
from tableveil.search.relaxing.relax import MOST

Way = tuple[Change, ...]
"""Changes that are made together."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """A requirement that is not met: its field, the values `found` and `expected` there, and each way to meet it."""

    field: str
    found: str
    expected: str
    ways: tuple[Way, ...]


def ways_of(i: int, model: PrivacyModel, records: int, holds: Callable[[PrivacyModel], bool]) -> tuple[Way, ...]:
    """Each parameter of the i-th privacy model with the nearest value at which it holds; if none has one, all together.

    If the model holds for a value, it must hold for every more lenient value. Empty if none of its parameters helps.
    """
    of = dict(grids(model, records))
    asked = dict.fromkeys(of, 0)
    ways = [nearest for name, grid in of.items() if (nearest := _nearest(model, of, asked | {name: grid.last}, holds))]
    ways = ways or [_nearest(model, of, {name: grid.last for name, grid in of.items()}, holds)]
    field = f"privacy_models[{i}].{PRIVACY_FIELDS[type(model)]}"
    return tuple(
        tuple(Change(f"{field}.{name}", spell(of[name].at(step))) for name, step in steps.items() if step)
        for steps in ways
        if steps
    )


def _nearest(
    model: PrivacyModel, of: Mapping[str, UnitSteps], steps: dict[str, int], holds: Callable[[PrivacyModel], bool]
) -> dict[str, int]:
    """The least steps at which the model holds, up to these, one after the other; empty if it does not hold at them."""

    def holds_at(steps: Mapping[str, int]) -> bool:
        changes: dict[str, Any] = {name: of[name].at(step) for name, step in steps.items() if step}
        return holds(replace(model, **changes))

    if not holds_at(steps):
        return {}
    for name, last in steps.items():
        steps = {**steps, name: bisect_left(range(last), True, key=lambda step: holds_at({**steps, name: step}))}
    return steps


def refusal(
    code: str,
    message: str,
    unmet: Sequence[Unmet],
    instead: Sequence[tuple[Fault, Sequence[Relaxation]]] = (),
    nearest: bool = True,
) -> InfeasibleError:
    """The error for requirements that are not met, with relaxations that meet all of them together, `nearest` or not.

    `instead` has other fields to change, with the relaxations that change them alone.
    """
    together = [
        Relaxation(tuple(change for way in ways for change in way), nearest)
        for ways in islice(product(*(one.ways for one in unmet)), MOST)
    ]
    relaxations = [*together, *(relaxation for _, others in instead for relaxation in others)]
    faults = [Fault(one.field, one.found, one.expected, _hint(one, unmet, nearest)) for one in unmet]
    faults += [fault for fault, _ in instead]
    return InfeasibleError(code, str(faults[0]) if len(faults) == 1 else message, faults, relaxations)


def _hint(one: Unmet, unmet: Sequence[Unmet], nearest: bool) -> str:
    """The ways to meet it, by the last names of their fields: the fault's field gives the rest."""
    if not one.ways:
        return f"No value that could be asked for {'would' if nearest else 'is known to'} do: leave it out."
    ways = ", or ".join(
        " and ".join(str(Change(change.field.rpartition(".")[2], change.value)) for change in way) for way in one.ways
    )
    if len(unmet) == 1:
        return f"Feasible would be {ways}."
    impossible = ", ".join(other.field for other in unmet if not other.ways)
    if impossible:
        return f"Here {ways} would suffice, but {impossible} cannot be met."
    others = ", ".join(other.field for other in unmet if other is not one)
    return f"Feasible would be {ways}, together with less of {others}."
