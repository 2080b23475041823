"""The game between proto and domain, both directions."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal

from tableveil.convert.collect import Faults
from tableveil.convert.decimals import decimal_to_text
from tableveil.policy import Game
from tableveil.v1 import policy_pb2

_PLACEHOLDER = Decimal("1e-9")
"""The least that is worth something: a gain that is stated is above it, whatever the cost is that was not."""


def game_from_proto(message: policy_pb2.Game, faults: Faults) -> Game:
    """The game in a policy's `game`; what is wrong is added to `faults`."""
    values = {
        field.name: faults.required_decimal(getattr(message, field.name), f"game.{field.name}", _PLACEHOLDER)
        for field in fields(Game)
    }
    return Game(**values)


def game_to_proto(game: Game) -> policy_pb2.Game:
    """The message for a game."""
    return policy_pb2.Game(**{field.name: decimal_to_text(getattr(game, field.name)) for field in fields(Game)})
