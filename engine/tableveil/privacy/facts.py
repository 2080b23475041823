"""Facts about the source that privacy models need besides its classes."""

from __future__ import annotations

from dataclasses import dataclass

from tableveil.classes import ClassCounter, Owned, SensitiveColumn
from tableveil.game import Stakes
from tableveil.lattice import Transformation
from tableveil.policy import Game


@dataclass(frozen=True, slots=True)
class Facts:
    """`counter` counts the source's classes.

    `population_size` is the number of people in the population, if the policy or the population's rows give it. `game`
    gives the worth of records, if the policy has one.
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
        """The stakes of the policy's game."""
        assert self.game is not None, "a policy that asks for it has a game"
        return Stakes.of(self.game)

    @property
    def people(self) -> tuple[int, SensitiveColumn] | None:
        """The people and their position, which leads to them in classes; None if every record is another person."""
        found = ((position, column) for position, column in enumerate(self.counter.sensitive) if column.people)
        return next(found, None)

    def owned(self, column: str) -> tuple[int, Owned] | None:
        """Whose the values of a sensitive column are, and their position; None if every record is another person."""
        for position, found in enumerate(self.counter.sensitive):
            if found.owned is not None and found.column == column:
                return position, found.owned
        return None

    def sensitive(self, column: str) -> tuple[int, SensitiveColumn]:
        """The sensitive column and its position, which leads to its values in classes."""
        for position, found in enumerate(self.counter.sensitive):
            if found.protected and found.column == column:
                return position, found
        raise KeyError(f"the values of {column} were not counted")
