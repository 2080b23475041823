"""Record-level generalization that pays even against an adversary who knows the method; labels nobody leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import LevelMaps
from tableveil.game.assignment import (
    SUPPRESSED,
    Assignment,
    Choice,
    Combinations,
    crowds,
    groups_at,
    in_order,
    payouts_against,
    pre_image_sizes,
    released_at,
)
from tableveil.game.counting import CountedClasses, counted_at_all
from tableveil.game.payout import InformationLoss, Stakes
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


if TYPE_CHECKING:
    from tableveil.control import Control


def solve_against_inversion(
    combinations: Combinations, lattice: Lattice, stakes: Stakes, choice: Choice, control: Control
) -> Assignment:
    """An assignment for everybody that pays against an adversary who knows it; `sizes` are the pre-images' sizes.

    Three assignments compete: `stable_choices`, the best one if the method is not known, and the best single
    transformation for all. The one that pays most for the source's records wins. From each, the records are removed
    that do not pay against this adversary or, if `choice` forbids attacks, are attacked by it. All members of a
    pre-image lose the same information among the same people. So suppressing one of them suppresses all, and other
    pre-images stay as they are. The result never pays less than the latter two; it need not be the optimum over all
    assignments.

    Within an assignment, the transformation of a combination depends on the people only. The choice among the three,
    and the single transformation, depend on the source's records; everything does if these stand in for the people.

    Raises:
        UncountableError: A domain is measured instead of counted.
        Stopped: `control` says so.
    """
    transformations = in_order(lattice)
    best = BestOfAll(combinations.levels, transformations, [stakes], choice)
    measure = InformationLoss(combinations.levels)
    totals = np.zeros(len(transformations))
    for counted in counted_at_all(combinations, lattice, everyone=True):
        control.raise_if_stopped()
        best.consider(counted)
        loss = measure.at(counted.at, counted.groups)
        kept = choice.releasable(stakes, loss, counted.people)
        totals[best.number[counted.at]] = float(counted.records[kept] @ stakes.payouts(loss, counted.people)[kept])
    [published] = best.assignments(len(combinations.people))
    full_domain = np.full(len(combinations.people), np.argmax(totals), np.int32)
    settled = [
        _settled(combinations, replace(published, chosen=chosen), stakes, choice)
        for chosen in (
            stable_choices(combinations, lattice, published, stakes, choice, control),
            published.chosen,
            full_domain,
        )
    ]
    return max(settled, key=lambda assignment: float(combinations.records @ assignment.payouts))


def _settled(combinations: Combinations, assignment: Assignment, stakes: Stakes, choice: Choice) -> Assignment:
    """The assignment's payout against the adversary who knows it, without records that must not be released then."""
    sizes = pre_image_sizes(combinations, assignment)
    kept = np.zeros(len(sizes), np.bool_)
    payouts = np.zeros(len(sizes))
    measure = InformationLoss(combinations.levels)
    for number, rows in released_at(assignment.chosen):
        to = assignment.transformations[number]
        loss = measure.at(to, groups_at(combinations, to, rows))
        kept[rows] = choice.releasable(stakes, loss, sizes[rows])
        payouts[rows] = stakes.payouts(loss, sizes[rows])
    return replace(
        assignment,
        chosen=np.where(kept, assignment.chosen, np.int32(SUPPRESSED)),
        sizes=np.where(kept, sizes, 0),
        payouts=np.where(kept, payouts, 0.0),
    )
