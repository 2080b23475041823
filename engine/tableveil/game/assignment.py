"""The combinations of values and the transformation that each is released at; the adversary who knows the method."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import LevelMaps
from tableveil.classes.blocks import Blocks, sums_at
from tableveil.game.payout import InformationLoss, Stakes
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import BreakEven

SUPPRESSED = -1
"""The choice for a combination whose records are not released."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The transformations at which a record may be released.

    If `no_attack`, only those at which the record is not attacked. A record that pays less than 0 is suppressed, unless
    `break_even` is None: then it is released at its best transformation, whatever it pays. For a record that pays
    exactly 0, `break_even` decides.
    """

    break_even: BreakEven | None = BreakEven.KEEP
    no_attack: bool = False

    def releasable(self, stakes: Stakes, loss: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether records with this loss, among this number of people, may be released."""
        releasable = np.ones(len(sizes), np.bool_)
        if self.break_even is not None:
            releasable &= stakes.profitable(loss, sizes, self.break_even)
        if self.no_attack:
            releasable &= ~stakes.attacked(sizes)
        return releasable


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The transformation of each combination; for combinations that only the population has, the one they would get.

    Attributes:
        transformations: The transformations of the lattice, by the sum of their levels, then lexicographic.
        chosen: Per combination an index into `transformations`, or `SUPPRESSED`.
        sizes: Per combination the number of people who share its labels at these levels: success has the probability 1
            / size. 0 if suppressed.
        payouts: Per combination the payout of each of its records; 0 if suppressed.
    """

    transformations: tuple[Transformation, ...]
    chosen: NDArray[np.int32]
    sizes: NDArray[np.int64]
    payouts: NDArray[np.float64]


def in_order(lattice: Lattice) -> tuple[Transformation, ...]:
    """All transformations by the sum of their levels, then lexicographic: the first of equally good ones is chosen."""
    return tuple(sorted(lattice, key=lambda x: (sum(x), x)))


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """The distinct combinations of values of the source and of the population.

    `codes[j][i]` is the code of quasi-identifier j in combination i. `records[i]` counts the source's records, 0 if the
    combination occurs in the population only. `people[i]` counts the population's records, or the source's again if
    there is no population table. Withheld records are in no combination.
    """

    levels: tuple[AttributeLevels, ...]
    codes: tuple[NDArray[np.int32], ...]
    records: NDArray[np.int64]
    people: NDArray[np.int64]


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
