"""What privacy models need to know of the source besides its classes."""

from __future__ import annotations

from dataclasses import dataclass

from tableveil.classes import ClassCounter, SensitiveColumn
from tableveil.game import Stakes
from tableveil.lattice import Transformation
from tableveil.policy import Game


@dataclass(frozen=True, slots=True)
class Facts:
    """`counter` counts the source's classes.

    `population_size` is how many people the source's are a part of, if the policy tells or the population's rows do.
    `game` is what records are worth, if the policy tells.
    """

    counter: ClassCounter
    population_size: int | None = None
    game: Game | None = None

    @property
    def top(self) -> Transformation:
        """The transformation at which all labels are the most general ones."""
        return tuple(attribute.top for attribute in self.counter.levels)

    @property
    def stakes(self) -> Stakes:
        """Of the game that the policy tells."""
        assert self.game is not None, "a policy that asks for it tells what records are worth"
        return Stakes.of(self.game)

    def sensitive(self, column: str) -> tuple[int, SensitiveColumn]:
        """The sensitive column and its position, by which classes tell its values."""
        for position, found in enumerate(self.counter.sensitive):
            if found.protected and found.column == column:
                return position, found
        raise KeyError(f"the values of {column} were not counted")
