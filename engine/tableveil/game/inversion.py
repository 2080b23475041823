"""The adversary who knows the method looks only at people who would get the same labels, not at all who share them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import LevelMaps
from tableveil.classes.blocks import Blocks, sums_at
from tableveil.game.assignment import SUPPRESSED, Assignment, Combinations
from tableveil.game.payout import InformationLoss, Stakes
from tableveil.lattice import Transformation


def pre_image_sizes(combinations: Combinations, assignment: Assignment) -> NDArray[np.int64]:
    """Per combination, the number of people who would be released with its labels at its levels; 0 if suppressed.

    An adversary who knows the method can compute how each person of the population would be released. Among the people
    who share a record's labels, the adversary considers only those who would get these labels: never more people, often
    fewer. The assignment must cover everyone.
    """
    maps = LevelMaps(combinations.levels)
    sizes = np.zeros(len(combinations.people), np.int64)
    for number, rows in released_at(assignment.chosen):
        to = assignment.transformations[number]
        sizes[rows] = crowds(groups_at(combinations, to, rows), combinations.people[rows], to, maps)
    return sizes


def people_of_labels(combinations: Combinations, assignment: Assignment) -> NDArray[np.int64]:
    """Per combination, the number of people whose values fit its labels, at any level; 0 if suppressed."""
    maps = LevelMaps(combinations.levels)
    people = np.zeros(len(combinations.people), np.int64)
    everybody = np.arange(len(people))
    for number, rows in released_at(assignment.chosen):
        to = assignment.transformations[number]
        people[rows] = crowds(groups_at(combinations, to, everybody), combinations.people, to, maps)[rows]
    return people


def payouts_against(
    combinations: Combinations, assignment: Assignment, stakes: Stakes, sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Per combination, the payout of each record if attacks succeed with probability 1 / `sizes`; 0 if suppressed."""
    measure = InformationLoss(combinations.levels)
    payouts = np.zeros(len(sizes))
    for number, rows in released_at(assignment.chosen):
        to = assignment.transformations[number]
        loss = measure.at(to, groups_at(combinations, to, rows))
        payouts[rows] = stakes.payouts(loss, sizes[rows])
    return payouts


def released_at(chosen: NDArray[np.int32]) -> list[tuple[int, NDArray[np.intp]]]:
    """The chosen transformations, with the combinations that are released at each."""
    order = np.argsort(chosen, kind="stable")
    numbers, starts = np.unique(chosen[order], return_index=True)
    parts = np.split(order, starts[1:])
    return [(int(number), rows) for number, rows in zip(numbers, parts, strict=False) if number != SUPPRESSED]


def groups_at(combinations: Combinations, to: Transformation, rows: NDArray[np.intp]) -> list[NDArray[np.integer[Any]]]:
    """Per quasi-identifier, the groups of these combinations at the transformation."""
    return [
        levels.groups[level][codes[rows]]
        for levels, level, codes in zip(combinations.levels, to, combinations.codes, strict=True)
    ]


def crowds(
    groups: Sequence[NDArray[np.integer[Any]]], people: NDArray[np.int64], at: Transformation, maps: LevelMaps
) -> NDArray[np.int64]:
    """Per entry with these groups at the transformation, the people of all entries in the same groups."""
    places, space = Blocks(at, groups, maps).places(at, [maps.size(j, level) for j, level in enumerate(at)])
    crowds: NDArray[np.int64] = sums_at(places, people, space)[places]
    return crowds
