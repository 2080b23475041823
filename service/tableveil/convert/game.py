"""The game, from the proto."""

from tableveil.convert.collect import Faults
from tableveil.convert.fields import from_message
from tableveil.policy import Game
from tableveil.v1 import policy_pb2


def game_from_proto(message: policy_pb2.Game, faults: Faults) -> Game:
    """The game in a policy's `game`; faults are added to `faults`."""
    return from_message(Game, message, "game", faults)
