"""Record-level generalization that pays even against an adversary who knows the method."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tableveil.game.assignment import SUPPRESSED, Assignment, Choice, Combinations, in_order
from tableveil.game.counting import counted_at_all
from tableveil.game.inversion import groups_at, pre_image_sizes, released_at
from tableveil.game.payout import InformationLoss, Stakes
from tableveil.game.record_level.best import BestOfAll
from tableveil.game.record_level.stability import stable_choices
from tableveil.lattice import Lattice

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
