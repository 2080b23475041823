"""Record-level generalization: every combination of values gets the transformation that pays most for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tableveil.game.assignment import SUPPRESSED, Assignment, Choice, Combinations, in_order
from tableveil.game.counting import CountedClasses, counted_at_all
from tableveil.game.payout import InformationLoss, Stakes
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Lattice, Transformation

if TYPE_CHECKING:
    # The search builds on quality models, which build on the game.
    from tableveil.control import Control

DIGITS = 12
"""Decimal digits of payout / benefit that are compared, so that rounding decides between no equal payouts."""


def best_transformations(
    combinations: Combinations,
    lattice: Lattice,
    stakes: Sequence[Stakes],
    choice: Choice,
    control: Control,
    everyone: bool = False,
    on_progress: Callable[[int, int], None] = lambda counted, transformations: None,
) -> list[Assignment]:
    """Per stakes, the transformation that pays most for each combination with records; with `everyone`, for all.

    A record pays benefit * (1 - information loss), less loss / people if it is attacked; people are those who share its
    labels (journalist model). No record's choice affects another's, so each transformation is counted once, for all
    combinations and all stakes. Among transformations that pay equally, the one with the least sum of levels is chosen,
    then the lexicographically first. Source: Wan et al. 2015; Prasser et al. 2017.

    Args:
        combinations: The combinations of the source and the population.
        lattice: The transformations to choose from; `enumerable` says whether they are too many.
        stakes: The stakes of one game or several.
        choice: The transformations at which a record may be released.
        control: May stop the work.
        everyone: Whether to choose for combinations of the population only, too; else they are `SUPPRESSED`.
        on_progress: Called with the number of transformations counted and the number of all.

    Raises:
        UncountableError: A domain is measured instead of counted.
        Stopped: `control` says so.
    """
    transformations = in_order(lattice)
    best = BestOfAll(combinations.levels, transformations, stakes, choice)
    for number, counted in enumerate(counted_at_all(combinations, lattice, everyone), 1):
        control.raise_if_stopped()
        best.consider(counted)
        on_progress(number, len(transformations))
    followed = None if everyone else np.flatnonzero(combinations.records)
    return best.assignments(len(combinations.records), followed)


class BestOfAll:
    """Per followed combination the best transformation considered so far, for several stakes at once."""

    def __init__(
        self,
        levels: Sequence[AttributeLevels],
        transformations: tuple[Transformation, ...],
        stakes: Sequence[Stakes],
        choice: Choice,
    ) -> None:
        """`transformations` are `in_order` of a lattice; `number` maps each to its place.

        Raises `UncountableError` if a domain is measured.
        """
        self._loss = InformationLoss(levels)
        self._transformations = transformations
        self.number = {x: number for number, x in enumerate(transformations)}
        self._stakes = tuple(stakes)
        self._choice = choice
        self._found: list[_Found] = []

    def consider(self, counted: CountedClasses) -> None:
        """Considers one more transformation; each call counts the same followed combinations."""
        if not self._found:
            self._found = [_Found.nothing(len(counted.of)) for _ in self._stakes]
        loss = self._loss.at(counted.at, counted.groups)
        for stakes, best_so_far in zip(self._stakes, self._found, strict=True):
            payouts = stakes.payouts(loss, counted.people)
            keys = np.rint(payouts * (10.0**DIGITS / stakes.benefit))
            keys[~self._choice.releasable(stakes, loss, counted.people)] = -np.inf
            best_so_far.improve(self.number[counted.at], keys, payouts, counted)

    def assignments(self, many: int, followed: NDArray[np.intp] | None = None) -> list[Assignment]:
        """One assignment per stakes, over `many` combinations; those at `followed` (by default all) were considered."""
        return [self._assignment(best_so_far, many, followed) for best_so_far in self._found]

    def _assignment(self, found: _Found, many: int, followed: NDArray[np.intp] | None) -> Assignment:
        if followed is None:
            return Assignment(self._transformations, found.chosen, found.sizes, found.payouts)
        chosen, sizes, payouts = np.full(many, SUPPRESSED, np.int32), np.zeros(many, np.int64), np.zeros(many)
        chosen[followed], sizes[followed], payouts[followed] = found.chosen, found.sizes, found.payouts
        return Assignment(self._transformations, chosen, sizes, payouts)


@dataclass(slots=True, eq=False)
class _Found:
    """Per followed combination: its best transformation, the people who share its labels there, and its payout."""

    chosen: NDArray[np.int32]
    sizes: NDArray[np.int64]
    payouts: NDArray[np.float64]
    keys: NDArray[np.float64]
    """The payouts in the form they are compared in; -inf as long as nothing may be released."""

    @classmethod
    def nothing(cls, many: int) -> _Found:
        return cls(
            np.full(many, SUPPRESSED, np.int32), np.zeros(many, np.int64), np.zeros(many), np.full(many, -np.inf)
        )

    def improve(
        self, number: int, keys: NDArray[np.float64], payouts: NDArray[np.float64], counted: CountedClasses
    ) -> None:
        """Takes the transformation where it is better; keys and payouts are per class."""
        of_each = keys[counted.of]
        better = np.flatnonzero(of_each >= self.keys)
        better = better[(of_each[better] > self.keys[better]) | (number < self.chosen[better])]
        classes = counted.of[better]
        self.chosen[better] = number
        self.sizes[better] = counted.people[classes]
        self.payouts[better] = payouts[classes]
        self.keys[better] = of_each[better]
