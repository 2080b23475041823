"""Record-level generalization: every combination of values gets the transformation that pays most for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tableveil.game.combinations import Combinations
from tableveil.game.counting import Counted, counted_at_all
from tableveil.game.payout import InformationLoss, Stakes
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import BreakEven

if TYPE_CHECKING:
    # The search builds on quality models, and those on the game.
    from tableveil.control import Control

SUPPRESSED = -1

DIGITS = 12
"""Decimal digits of payout / benefit that are compared, so that what is equal by definition is not told by rounding."""

MOST_PAIRS = 20_000_000_000
"""Most pairs of a combination and a transformation: some minutes on one core."""

MOST_TRANSFORMATIONS = 1_000_000
"""Each is counted, however few combinations there are."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which transformations a record may be released at.

    If `no_attack`, only those at which it is not attacked. What pays less than 0 is suppressed, unless `break_even` is
    None: then the best is released whatever it pays; what pays exactly 0 goes as it says.
    """

    break_even: BreakEven | None = BreakEven.KEEP
    no_attack: bool = False

    def releasable(self, stakes: Stakes, loss: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether records that lose so much information, among so many people, may be released."""
        releasable = np.ones(len(sizes), np.bool_)
        if self.break_even is not None:
            releasable &= stakes.profitable(loss, sizes, self.break_even)
        if self.no_attack:
            releasable &= ~stakes.attacked(sizes)
        return releasable


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """What each combination is released at, those of the population only included: what they would be.

    Attributes:
        transformations: Those of the lattice, in the order of the sum of their levels, then lexicographic.
        chosen: Per combination an index into `transformations`, or `SUPPRESSED`.
        sizes: Per combination the people that share its labels at these levels: success has the probability 1 / size.
            0 if suppressed.
        payouts: Per combination what each of its records pays; 0 if suppressed.
    """

    transformations: tuple[Transformation, ...]
    chosen: NDArray[np.int32]
    sizes: NDArray[np.int64]
    payouts: NDArray[np.float64]


def enumerable(combinations: int, lattice: Lattice) -> bool:
    """Whether all transformations of the lattice can be tried on so many combinations; callers refuse what cannot."""
    return lattice.size <= min(MOST_TRANSFORMATIONS, MOST_PAIRS // max(combinations, 1))


def in_order(lattice: Lattice) -> tuple[Transformation, ...]:
    """All transformations by the sum of their levels, then lexicographic: of equally good ones the first is chosen."""
    return tuple(sorted(lattice, key=lambda x: (sum(x), x)))


def best_transformations(
    combinations: Combinations,
    lattice: Lattice,
    stakes: Sequence[Stakes],
    choice: Choice,
    control: Control,
    everyone: bool = False,
    on_progress: Callable[[int, int], None] = lambda counted, transformations: None,
) -> list[Assignment]:
    """Per stakes, what pays most for each combination with records; if `everyone`, for those without records too.

    A record pays benefit * (1 - information loss), less loss / people if it is attacked, where people are those that
    share its labels (journalist model). No record's choice touches another's, so each transformation is counted once,
    for all combinations and all stakes. Of those that pay the same, the one with the least sum of levels, then the
    lexicographically first, is chosen. Source: Wan et al. 2015; Prasser et al. 2017.

    Args:
        combinations: Of the source and the population.
        lattice: Which transformations there are; `enumerable` tells whether they are too many.
        stakes: One game or several.
        choice: What may be released.
        control: May stop the work.
        everyone: Whether to choose for combinations of the population only as well; else they are `SUPPRESSED`.
        on_progress: Is told how many transformations of how many were counted.

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
    """Per followed combination the best of the transformations considered so far, for several stakes at once."""

    def __init__(
        self,
        levels: Sequence[AttributeLevels],
        transformations: tuple[Transformation, ...],
        stakes: Sequence[Stakes],
        choice: Choice,
    ) -> None:
        """`transformations` are `in_order` of a lattice; `number` tells the place of each.

        Raises `UncountableError` if a domain is measured.
        """
        self._loss = InformationLoss(levels)
        self._transformations = transformations
        self.number = {x: number for number, x in enumerate(transformations)}
        self._stakes = tuple(stakes)
        self._choice = choice
        self._found: list[_Found] = []

    def consider(self, counted: Counted) -> None:
        """One more of them; each counts the same followed combinations."""
        if not self._found:
            self._found = [_Found.nothing(len(counted.of)) for _ in self._stakes]
        loss = self._loss.at(counted.at, counted.groups)
        for stakes, found in zip(self._stakes, self._found, strict=True):
            payouts = stakes.payouts(loss, counted.people)
            keys = np.rint(payouts * (10.0**DIGITS / stakes.benefit))
            keys[~self._choice.releasable(stakes, loss, counted.people)] = -np.inf
            found.improve(self.number[counted.at], keys, payouts, counted)

    def assignments(self, many: int, followed: NDArray[np.intp] | None = None) -> list[Assignment]:
        """One per stakes, over `many` combinations, of which those at `followed`, by default all, were considered."""
        return [self._assignment(found, many, followed) for found in self._found]

    def _assignment(self, found: _Found, many: int, followed: NDArray[np.intp] | None) -> Assignment:
        if followed is None:
            return Assignment(self._transformations, found.chosen, found.sizes, found.payouts)
        chosen, sizes, payouts = np.full(many, SUPPRESSED, np.int32), np.zeros(many, np.int64), np.zeros(many)
        chosen[followed], sizes[followed], payouts[followed] = found.chosen, found.sizes, found.payouts
        return Assignment(self._transformations, chosen, sizes, payouts)


@dataclass(slots=True, eq=False)
class _Found:
    """Per followed combination: its best transformation, the people that share its labels there, and what it pays."""

    chosen: NDArray[np.int32]
    sizes: NDArray[np.int64]
    payouts: NDArray[np.float64]
    keys: NDArray[np.float64]
    """The payouts as they are compared; -inf as long as nothing may be released."""

    @classmethod
    def nothing(cls, many: int) -> _Found:
        return cls(
            np.full(many, SUPPRESSED, np.int32), np.zeros(many, np.int64), np.zeros(many), np.full(many, -np.inf)
        )

    def improve(self, number: int, keys: NDArray[np.float64], payouts: NDArray[np.float64], counted: Counted) -> None:
        """Takes the transformation where it is better; keys and payouts are per class."""
        of_each = keys[counted.of]
        better = np.flatnonzero(of_each >= self.keys)
        better = better[(of_each[better] > self.keys[better]) | (number < self.chosen[better])]
        classes = counted.of[better]
        self.chosen[better] = number
        self.sizes[better] = counted.people[classes]
        self.payouts[better] = payouts[classes]
        self.keys[better] = of_each[better]
