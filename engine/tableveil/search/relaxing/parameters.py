"""The numbers of a policy that can be relaxed, each from the policy's own value to the most lenient one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from tableveil.policy import PRIVACY_FIELDS, DeltaPresence, Game, NoAttack, Policy, Profitability
from tableveil.privacy.registry import grids
from tableveil.privacy.steps import UNIT, Number, UnitSteps, down, spell, up


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


def number_parameter(
    field: str, grid: UnitSteps, change: Callable[[Policy, Any], Policy], monotone: bool = True
) -> Parameter:
    """A parameter whose values are those of a grid."""
    return Parameter(
        field,
        grid.last,
        lambda step: spell(grid.at(step)),
        lambda policy, step: change(policy, grid.at(step)),
        monotone,
    )


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
