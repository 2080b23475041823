"""The rule of the anchor: everybody has a first event, so a key without it shows that it was removed.

Keys that have rows, but none at the anchor, are none or at least k of a class; also those that have one of m - 1 known
rows beside. So "no row at the anchor" is one more fact, which the repair makes true of more people.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.lattice import Transformation
from tableveil.repair.facts import Ints, RowFacts, supports
from tableveil.repair.rules import repaired


@dataclass(frozen=True, slots=True, eq=False)
class AnchorColumn:
    """The days of an event table: the place of the column in a transformation, and the groups of its values.

    `codes` has the value of each combination of the table, which are numbered from `first` among all. `anchors` has
    per level the group that the anchor's value is in, or -1.
    """

    axis: int
    first: int
    codes: Ints
    groups: Sequence[NDArray[np.int32]]
    anchors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AnchorLabels:
    """The columns of days, by which rows are at the anchor."""

    columns: tuple[AnchorColumn, ...]

    def of_labels(self, labels: Ints, number: int, at: Transformation) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Per label, whether it has days, and whether it is at the anchor; `labels` has that of each combination."""
        timed, hit = np.zeros(number, np.bool_), np.zeros(number, np.bool_)
        for column in self.columns:
            own = labels[column.first : column.first + len(column.codes)]
            level = at[column.axis]
            timed[own] = True
            hit[own] = column.groups[level][column.codes] == column.anchors[level]
        return timed, hit


def repaired_with_anchor(
    facts: RowFacts, class_of: Ints, k: int, m: int, flags: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None
) -> Ints:
    """How many rows of each fact are left, under the rule if there are flags of labels: see `of_labels`."""
    kept = repaired(facts, class_of, k, m)
    while flags is not None:
        lost = _lost(facts, kept, class_of, k, m, flags)
        if not len(lost):
            break
        kept[lost] = 0
        left = np.flatnonzero(kept)
        of_left = RowFacts(facts.people[left], facts.labels[left], kept[left])
        kept[left] = repaired(of_left, class_of, k, m, giving=False)
    return kept


def _lost(
    facts: RowFacts, kept: Ints, class_of: Ints, k: int, m: int, flags: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> NDArray[np.intp]:
    """The facts by which too few people are seen to have lost their anchor."""
    timed, hit = flags
    live = np.flatnonzero(kept)
    people, labels = facts.people[live], facts.labels[live]
    without = np.zeros(len(class_of), np.bool_)
    without[people[timed[labels]]] = True
    without[people[hit[labels]]] = False
    number = int(class_of.max(initial=-1)) + 1
    found = np.flatnonzero(without)
    few = np.bincount(class_of[found], minlength=number) < k
    own = without[people]
    of_few = own & few[class_of[people]] & timed[labels]
    if m == 1 or of_few.any():
        return np.asarray(live[of_few])
    own_facts = np.flatnonzero(own)
    keys = class_of[people[own_facts]].astype(np.int64) * len(timed) + labels[own_facts]
    numbers, most = supports(keys)
    return np.asarray(live[own_facts[np.bincount(numbers, minlength=most)[numbers] < k]])
