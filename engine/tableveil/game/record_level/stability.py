"""Choices of labels that no people have a reason to leave, alone or together, if only equal choices protect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import LevelMaps
from tableveil.game.assignment import SUPPRESSED, Assignment, Choice, Combinations
from tableveil.game.counting import CountedClasses, counted_at_all
from tableveil.game.inversion import crowds, groups_at, payouts_against, pre_image_sizes, released_at
from tableveil.game.payout import Stakes
from tableveil.game.record_level.best import BestOfAll
from tableveil.lattice import Lattice

if TYPE_CHECKING:
    from tableveil.control import Control

ROUNDS = 100
"""The most rounds of choosing again; on the tables measured, at most 40 were needed."""


def stable_choices(
    combinations: Combinations,
    lattice: Lattice,
    published: Assignment,
    stakes: Stakes,
    choice: Choice,
    control: Control,
) -> NDArray[np.int32]:
    """A choice per combination such that no people could agree on labels that would pay more for each of them.

    Each combination chooses the labels that would pay most if all people joined who still can: those who share the
    labels and are settled there, or are not settled yet. A combination that gets the people it expected is settled; the
    others choose again. From round to round fewer can join, so nobody who is settled could have more later. All people
    who can choose the most promising labels do choose them, so each round settles somebody. This is the greedy
    construction of a stable partition where all members of a coalition get equal payoffs (Banerjee, Konishi, Sönmez
    2001, "Core in a simple coalition formation game"). A combination that is not settled after `ROUNDS` keeps its last
    choice.
    """
    chosen, promised = published.chosen.copy(), published.payouts.copy()
    unsettled = np.flatnonzero(chosen != SUPPRESSED)
    maps = LevelMaps(combinations.levels)
    for _ in range(ROUNDS):
        assignment = replace(published, chosen=chosen)
        realised = payouts_against(combinations, assignment, stakes, pre_image_sizes(combinations, assignment))
        unsettled = unsettled[realised[unsettled] < promised[unsettled]]
        if not len(unsettled):
            break
        chosen[unsettled] = SUPPRESSED
        settled = dict(released_at(chosen))
        best = BestOfAll(combinations.levels, published.transformations, [stakes], choice)
        for counted in counted_at_all(_selected(combinations, unsettled), lattice, everyone=True):
            control.raise_if_stopped()
            best.consider(_joined(counted, combinations, maps, settled.get(best.number[counted.at], unsettled[:0])))
        [choices] = best.assignments(len(unsettled))
        chosen[unsettled], promised[unsettled] = choices.chosen, choices.payouts
        unsettled = unsettled[choices.chosen != SUPPRESSED]
    return chosen


def _selected(combinations: Combinations, rows: NDArray[np.intp]) -> Combinations:
    return replace(
        combinations,
        codes=tuple(codes[rows] for codes in combinations.codes),
        records=combinations.records[rows],
        people=combinations.people[rows],
    )


def _joined(
    counted: CountedClasses, combinations: Combinations, maps: LevelMaps, rows: NDArray[np.intp]
) -> CountedClasses:
    """The classes, with the people of these combinations added, which are released at the classes' transformation."""
    if not len(rows):
        return counted
    groups = groups_at(combinations, counted.at, rows)
    both = [np.concatenate(pair) for pair in zip(counted.groups, groups, strict=True)]
    people = np.concatenate([counted.people, combinations.people[rows]])
    return replace(counted, people=crowds(both, people, counted.at, maps)[: len(counted.people)])
