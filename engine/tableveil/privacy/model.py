"""The interface of every privacy model, all models of a policy as one, and the facts of the source that they need."""

from abc import ABC, abstractmethod
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


class ReleaseRule(ABC):
    """Decides what may be released, and declares what the search may conclude from it.

    A rule is asked about some or all of the classes at one transformation. A rule that judges class by class gives the
    same answer for a class whichever other classes are asked about. A rule that is `by_sample` judges together all
    classes that would be released; it is asked last, and suppresses as many of them as it must.

    Its declarations must be true for every table: docs/explanations/models.md has the reason for each model, and
    the test of each rule tries them by brute force, with `check_declared` of tests/engine/privacy/monotonicity.py.
    """

    by_sample: bool = False
    """Whether classes are judged together."""

    looks_at_values: bool = False
    """Whether it looks at values of sensitive columns."""

    sizes_only: bool = False
    """Whether it releases exactly the classes of at least `minimum_class_size` records."""

    monotone: bool = True
    """If all classes at x may be released, so may all classes at every y >= x: true if nothing is suppressed."""

    @property
    def minimum_class_size(self) -> int:
        """Every releasable class has at least this many records (1 if the model implies no size).

        The search inherits failures downwards by this size: records in classes smaller than it stay in such classes at
        every finer transformation, which does not hold for a model's own failing classes in general.
        """
        return 1

    @property
    def knows_lost(self) -> bool:
        """Whether `lost` or `lost_together` say anything: if not, the search need not look at the classes for it."""
        rule = type(self)
        return rule.lost is not ReleaseRule.lost or rule.lost_together is not ReleaseRule.lost_together

    @abstractmethod
    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Per class, whether it may be released."""

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64] | None:
        """Per class, how many of its records cannot be released at this transformation nor at any finer one.

        A class may be lost as a whole or in part; a part does not say which records are lost. None: nothing is known
        beyond `minimum_class_size`.
        """
        return None

    def lost_together(self, classes: EquivalenceClasses) -> int:
        """The least number of records of all these classes together that are not released here nor at any finer one.

        It is not known which records these are.
        """
        return 0

    def vetoes(self, classes: EquivalenceClasses) -> bool:
        """Whether no transformation up to this one is valid, whatever it suppresses; it is given all classes."""
        return False

    def refuses_all_below(self, classes: EquivalenceClasses) -> bool:
        """Whether nothing up to this transformation is valid if no class may be suppressed; it is given all classes."""
        return self.monotone and not self.releasable(classes).all()

    @abstractmethod
    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """The strictest parameter with which at most `suppressible` records of these classes would be suppressed.

        In words for people, such as `t = 0.31`, rounded so that it does hold; None if there is none, or no parameter.
        """


@dataclass(frozen=True)
class Conjunction(ReleaseRule):
    """Every rule must hold."""

    rules: tuple[ReleaseRule, ...]

    @property
    def sizes_only(self) -> bool:  # type: ignore[override]
        """Whether all rules do."""
        return all(rule.sizes_only for rule in self.rules)

    @property
    def minimum_class_size(self) -> int:
        """The largest size that any of the rules implies."""
        return max((rule.minimum_class_size for rule in self.rules), default=1)

    @property
    def knows_lost(self) -> bool:
        """Whether any rule vetoes."""
        return any(rule.knows_lost for rule in self.rules)

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes that every rule releases; rules by sample judge the rest of the others, in their order."""
        kept = np.ones(len(classes.counts), np.bool_)
        for rule in self.rules:
            if not rule.by_sample:
                kept &= rule.releasable(classes)
        by_sample = [rule for rule in self.rules if rule.by_sample]
        before = len(kept) + 1
        # One rule may suppress classes that another rule needs to hold: this repeats until none suppresses any more.
        while by_sample and np.count_nonzero(kept) < before:
            before = np.count_nonzero(kept)
            for rule in by_sample:
                # The right side is evaluated first: it judges the classes that are kept so far.
                kept[kept] = rule.releasable(classes.selected(kept))
        return kept

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64] | None:
        """Per class, the largest loss that any rule knows: which records of a class are lost is not known."""
        most: NDArray[np.int64] | None = None
        for rule in self.rules:
            lost = rule.lost(classes)
            if lost is not None:
                most = lost if most is None else np.maximum(most, lost)
        return most

    def lost_together(self, classes: EquivalenceClasses) -> int:
        """The largest loss that any rule knows: several rules may lose the same records."""
        return max((rule.lost_together(classes) for rule in self.rules), default=0)

    def vetoes(self, classes: EquivalenceClasses) -> bool:
        """Whether any rule refuses all below."""
        return any(rule.vetoes(classes) for rule in self.rules)

    def refuses_all_below(self, classes: EquivalenceClasses) -> bool:
        """Whether any rule does."""
        return any(rule.refuses_all_below(classes) for rule in self.rules)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """A conjunction has no parameter of its own: its rules have."""
        return None
