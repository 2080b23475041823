"""A preview of a hierarchy for people: per level its groups, their sizes, and the values that are not covered."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy.labelled import LabelledValues


@dataclass(frozen=True, slots=True)
class PreviewGroup:
    """A label, the leaves under it (see `LabelledValues`), and the values and records of the column that have it."""

    label: str
    leaves: float
    values: int
    records: int


@dataclass(frozen=True, slots=True)
class PreviewLevel:
    """A level: its groups in the order of their first values, in full or only the `first` and the `last` of them.

    `fewest_leaves` to `most_records` are over all `groups`, and 0 if there is no group.
    """

    level: int
    groups: int
    first: tuple[PreviewGroup, ...]
    last: tuple[PreviewGroup, ...]
    fewest_leaves: float
    most_leaves: float
    fewest_records: int
    most_records: int

    @property
    def left_out(self) -> int:
        """Number of groups between the first and the last."""
        return self.groups - len(self.first) - len(self.last)


def preview_levels(
    labelled: LabelledValues, texts: Sequence[str], records: NDArray[np.int64], most_groups: int, with_values: bool
) -> tuple[PreviewLevel, ...]:
    """The levels from 0 to the top, with up to `most_groups` groups each.

    Args:
        labelled: The labels of the values in their order.
        texts: These values as text.
        records: The number of records of each value.
        most_groups: The most groups of a level that are listed.
        with_values: Whether level 0 lists its groups, which are single values.
    """
    covered = labelled.covered
    values = np.array(texts, dtype=np.object_)[covered].tolist()
    smallest = np.full(len(values), 0.0 if labelled.continuous else 1.0)
    levels = [_level(0, values, smallest, records[covered], most_groups if with_values else 0)]
    for number, (labels, leaves) in enumerate(zip(labelled.labels, labelled.leaves, strict=True), start=1):
        labels_of_values = [label for label in labels if label is not None]
        levels.append(_level(number, labels_of_values, leaves[covered], records[covered], most_groups))
    return tuple(levels)


def _level(
    number: int, labels: Sequence[str], leaves: NDArray[np.float64], records: NDArray[np.int64], shown: int
) -> PreviewLevel:
    """The level at which the values have these labels; their leaves and records are given per value."""
    numbers = {label: group for group, label in enumerate(dict.fromkeys(labels))}
    groups = np.fromiter(map(numbers.__getitem__, labels), np.int64, len(labels))
    group_leaves = np.zeros(len(numbers))
    # All values of a group have equal leaves, so any of them may be kept.
    group_leaves[groups] = leaves
    group_values = np.bincount(groups, minlength=len(numbers))
    group_records = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(group_records, groups, records)
    groups_shown = [
        PreviewGroup(label, float(group_leaves[group]), int(group_values[group]), int(group_records[group]))
        for label, group in numbers.items()
        if group < -(-shown // 2) or group >= len(numbers) - shown // 2
    ]
    first = groups_shown[: -(-shown // 2)]
    return PreviewLevel(
        level=number,
        groups=len(numbers),
        first=tuple(first),
        last=tuple(groups_shown[len(first) :]),
        fewest_leaves=float(group_leaves.min()) if numbers else 0.0,
        most_leaves=float(group_leaves.max(initial=0.0)),
        fewest_records=int(group_records.min()) if numbers else 0,
        most_records=int(group_records.max(initial=0)),
    )
