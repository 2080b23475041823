"""Facts about the source that privacy models need besides its classes."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, ClassValues, EquivalenceClasses, PersonValues, SensitiveColumn
from tableveil.game import Stakes
from tableveil.lattice import Transformation
from tableveil.policy import Game


class LatestPeople:
    """The people of the classes that were asked about last: several rules ask about the same ones."""

    def __init__(self) -> None:
        self._classes: EquivalenceClasses | None = None
        self._known = np.zeros(0, np.bool_)
        self._values: ClassValues | None = None

    def of(self, classes: EquivalenceClasses, mask: NDArray[np.bool_], position: int) -> ClassValues:
        """The people in the classes of a mask; `position` leads to them."""
        if self._classes is not classes:
            self._classes, self._known, self._values = classes, np.zeros(len(mask), np.bool_), None
        if self._values is None or (mask & ~self._known).any():
            self._known = self._known | mask
            self._values = classes.selected(self._known).values(position)
        if (mask == self._known).all():
            return self._values
        chosen = mask[self._known]
        entries = chosen[self._values.classes]
        number = np.cumsum(chosen) - 1
        return ClassValues(
            number[self._values.classes[entries]], self._values.values[entries], self._values.counts[entries]
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """`counter` counts the source's classes.

    `population_size` is the number of people in the population, if the policy or the population's rows give it. `game`
    gives the worth of records, if the policy has one.
    """

    counter: ClassCounter
    population_size: int | None = None
    game: Game | None = None
    _latest: LatestPeople = field(default_factory=lambda: LatestPeople(), compare=False, repr=False)

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
        positions = ((position, column) for position, column in enumerate(self.counter.sensitive) if column.people)
        return next(positions, None)

    @property
    def units(self) -> tuple[tuple[int, SensitiveColumn], ...]:
        """The other units that count beside people, each with its position."""
        return tuple((position, column) for position, column in enumerate(self.counter.sensitive) if column.unit)

    def people_of(self, classes: EquivalenceClasses, mask: NDArray[np.bool_]) -> ClassValues:
        """The people in the classes of a mask, with their records there."""
        assert self.people is not None, "every record is another person"
        return self._latest.of(classes, mask, self.people[0])

    def owned(self, column: str) -> tuple[int, PersonValues] | None:
        """The owners of a sensitive column's values, and their position; None if every record is another person."""
        for position, sensitive_column in enumerate(self.counter.sensitive):
            if sensitive_column.owned is not None and sensitive_column.column == column:
                return position, sensitive_column.owned
        return None

    def sensitive(self, column: str) -> tuple[int, SensitiveColumn]:
        """The sensitive column and its position, which leads to its values in classes."""
        for position, sensitive_column in enumerate(self.counter.sensitive):
            if sensitive_column.protected and sensitive_column.column == column:
                return position, sensitive_column
        raise KeyError(f"the values of {column} were not counted")
