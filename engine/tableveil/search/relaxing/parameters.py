"""The numbers of a policy that can be relaxed, each from the policy's own value to the most lenient one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from tableveil.policy import (
    PRIVACY_FIELDS,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    EstimatedKMap,
    Game,
    KAnonymity,
    KMap,
    NoAttack,
    NTCloseness,
    Policy,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    Profitability,
    RecursiveCLDiversity,
    SampleUniqueness,
    TCloseness,
)
from tableveil.privacy.nearest import DIGITS

UNIT = Decimal(1).scaleb(-DIGITS)
"""The step in which decimals are tried, and so the precision of the nearest value."""

Number = int | Decimal


@dataclass(frozen=True, slots=True)
class Parameter:
    """One field of a policy, in steps from its own value, which is step 0, to the most lenient one, `last`.

    `monotone` says that whatever is valid at a step is valid at every later one. `spelled` writes the value at a step
    as the policy would, empty for a field that is left out; `applied` gives the policy with that value.
    """

    field: str
    last: int
    spelled: Callable[[int], str]
    change: Callable[[Policy, int], Policy]
    monotone: bool = True

    def applied(self, policy: Policy, step: int) -> Policy:
        """The policy with the value at the step."""
        return self.change(policy, step) if step else policy


@dataclass(frozen=True, slots=True)
class Grid:
    """The multiples of a unit beyond `own` up to `end`, upwards or, if it `falls`, downwards."""

    own: Number
    end: Number
    falls: bool
    unit: Number = UNIT

    def at(self, step: int) -> Number:
        """The value at a step from 1 on."""
        return (self._first - step + 1 if self.falls else self._first + step - 1) * self.unit

    @property
    def last(self) -> int:
        """The last step; 0 if there is none."""
        end = Fraction(self.end) / Fraction(self.unit)
        steps = self._first - math.ceil(end) if self.falls else math.floor(end) - self._first
        return max(0, steps + 1)

    @property
    def _first(self) -> int:
        units = Fraction(self.own) / Fraction(self.unit)
        return math.ceil(units) - 1 if self.falls else math.floor(units) + 1


def up(own: Decimal, end: Decimal) -> Grid:
    """Decimals above `own`."""
    return Grid(own, end, False)


def down(own: Decimal, end: Decimal) -> Grid:
    """Decimals below `own`."""
    return Grid(own, end, True)


def levels(own: int, end: int) -> Grid:
    """Whole numbers from `own` to `end`."""
    return Grid(own, end, end < own, 1)


def fewer(own: int, end: int) -> Grid:
    """Whole numbers below `own`."""
    return Grid(own, end, True, 1)


def number_parameter(
    field: str, grid: Grid, change: Callable[[Policy, Any], Policy], monotone: bool = True
) -> Parameter:
    """A parameter whose values are those of a grid."""
    return Parameter(
        field,
        grid.last,
        lambda step: spell(grid.at(step)),
        lambda policy, step: change(policy, grid.at(step)),
        monotone,
    )


def spell(number: Number) -> str:
    """The number as people write it."""
    return str(number) if isinstance(number, int) else f"{number.normalize():f}"


def limit_parameter(policy: Policy) -> Parameter:
    """The suppression limit, up to the last value that does not suppress everything: that would release nothing."""
    grid = up(policy.suppression_limit, 1 - UNIT)
    return number_parameter("suppression_limit", grid, lambda policy, limit: replace(policy, suppression_limit=limit))


def model_parameters(policy: Policy, i: int, records: int, monotone: bool) -> Iterator[Parameter]:
    """The parameters of the privacy model at a position, or of the game if the model uses it."""
    model = policy.privacy_models[i]
    if policy.game is not None and isinstance(model, Profitability | NoAttack):
        yield from _game_parameters(policy.game, model, monotone)
        return
    field = f"privacy_models[{i}].{PRIVACY_FIELDS[type(model)]}"
    for name, grid in grids(model, records):
        yield number_parameter(f"{field}.{name}", grid, _changed_model(i, name), monotone)


def _changed_model(i: int, name: str) -> Callable[[Policy, Number], Policy]:
    def change(policy: Policy, value: Number) -> Policy:
        models: list[Any] = list(policy.privacy_models)
        models[i] = replace(models[i], **{name: value})
        if isinstance(models[i], DeltaPresence) and (models[i].minimum, models[i].maximum) == (0, 1):
            # Any share is from 0 to 1: this is the next range that promises something.
            models[i] = replace(models[i], maximum=1 - UNIT)
        return replace(policy, privacy_models=tuple(models))

    return change


def grids(model: PrivacyModel, records: int) -> Iterator[tuple[str, Grid]]:
    """The model's parameters that a policy may set, with their values from the model's own to more lenient ones."""
    match model:
        case KAnonymity(k) | KMap(k) | EstimatedKMap(k):
            yield "k", fewer(k, 2)
        case DeltaPresence(minimum, maximum):
            yield "maximum", up(maximum, Decimal(1) if minimum else 1 - UNIT)
            yield "minimum", down(minimum, Decimal(0))
        case AverageRisk(threshold) | SampleUniqueness(threshold) | PopulationUniqueness(threshold):
            yield "threshold", up(threshold, 1 - UNIT)
        case DistinctLDiversity(_, l):
            yield "l", fewer(l, 2)
        case ProbabilisticLDiversity(_, l) | EntropyLDiversity(_, l):
            yield "l", down(l, 1 + UNIT)
        case RecursiveCLDiversity(_, c, l):
            yield "c", up(c, Decimal(records + 1))
            yield "l", fewer(l, 2)
        case TCloseness(_, t):
            yield "t", up(t, 1 - UNIT)
        case NTCloseness(_, n, t):
            yield "t", up(t, 1 - UNIT)
            yield "n", fewer(n, 2)
        case DeltaDisclosure(_, delta):
            yield "delta", up(delta, Decimal(records.bit_length() + 1))
        case BetaLikeness(_, beta):
            yield "beta", up(beta, Decimal(records))


def _game_parameters(game: Game, model: Profitability | NoAttack, monotone: bool) -> Iterator[Parameter]:
    """The cost and the gain of an attack: an adversary without a gain above the cost does not play."""
    if isinstance(model, Profitability):
        yield number_parameter(
            "game.publisher_loss", down(game.publisher_loss, Decimal(0)), _changed_game("publisher_loss"), monotone
        )
    grid = down(game.adversary_gain, game.adversary_cost + UNIT)
    yield number_parameter("game.adversary_gain", grid, _changed_game("adversary_gain"), monotone)


def _changed_game(name: Literal["publisher_loss", "adversary_gain"]) -> Callable[[Policy, Decimal], Policy]:
    def change(policy: Policy, value: Decimal) -> Policy:
        assert policy.game is not None
        changes: dict[str, Any] = {name: value}
        return replace(policy, game=replace(policy.game, **changes))

    return change
