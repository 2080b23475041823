"""The hierarchy of a quasi-identifier as search and counting use it: numbers, and the middles of labels."""

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy.labelled import CountedLeaves, LabelledValues, ValueKind
from tableveil.hierarchy.notation import Notation


@dataclass(frozen=True, slots=True, eq=False)
class AttributeLevels:
    """The hierarchy of one quasi-identifier, for search and counting.

    A code is the position of a value among the distinct values of the column; if NULL counts as a value, it has the
    last code. Codes with the same label at a level form a group.

    Attributes:
        groups: Per level from 0 to the top, the group of each code; at level 0 every code is a group.
        labels: Per level from 1 to the top, the label of each group, in ascending order; the group of NULL, whose
            label is None, comes last.
        leaves: Per level from 0 to the top and per group: the number of level-0 values of the hierarchy in it, or the
            width of its interval if continuous. At the top it is `domain_size`.
        domain_size: |H| with NULL where it counts, or the width of the declared range if continuous.
        continuous: Whether leaves and domain size measure width instead of counting values.
        null_code: The code of NULL, if it has one.
        loss_leaves: Shaped as `leaves`: what loss counts in their place. It grows with the level as they do.
        loss_domain: The loss leaves at the top.
    """

    groups: tuple[NDArray[np.int32], ...]
    labels: tuple[tuple[str | None, ...], ...]
    leaves: tuple[NDArray[np.float64], ...]
    domain_size: float
    continuous: bool
    null_code: int | None
    loss_leaves: tuple[NDArray[np.float64], ...] = ()
    loss_domain: float = 0.0

    def __post_init__(self) -> None:
        if not self.loss_leaves:
            object.__setattr__(self, "loss_leaves", self.leaves)
            object.__setattr__(self, "loss_domain", self.domain_size)

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.groups) - 1

    def shares(self, level: int) -> NDArray[np.float64]:
        """Loss of one record per group of the level, from 0 to 1 (Iyengar 2002).

        (leaves - 1)/(|H| - 1), and 0 if |H| = 1; leaves/|H| if continuous. Leaves and |H| are those that loss counts.
        """
        if self.continuous:
            return self.loss_leaves[level] / self.loss_domain
        if self.loss_domain <= 1:
            return np.zeros_like(self.loss_leaves[level])
        return (self.loss_leaves[level] - 1) / (self.loss_domain - 1)


def attribute_levels(labelled: LabelledValues, has_null: bool, null_counts: bool = True) -> AttributeLevels:
    """The levels of a column whose distinct values were labelled.

    NULL stays a group of its own below the top, where all values are in one group. It counts in |H| as one more value,
    but has no width: a continuous domain does not grow.

    Args:
        labelled: The labels of all distinct values; all are covered.
        has_null: Whether NULL occurs in the column too.
        null_counts: Whether NULL counts as a value; if not, its records are never released, and |H| is without it.

    Raises:
        ValueError: A value is not covered; callers report that before.
    """
    if not labelled.covered.all():
        raise ValueError(f"{int((~labelled.covered).sum())} values are not covered by the hierarchy")
    values = len(labelled.covered)
    codes = values + has_null
    smallest = 0.0 if labelled.continuous else 1.0
    domain_size = labelled.domain_size + (has_null and null_counts and not labelled.continuous)

    groups = [np.arange(codes, dtype=np.int32)]
    labels: list[tuple[str | None, ...]] = []
    leaves = [np.full(codes, smallest)]
    for level_labels, level_leaves in zip(labelled.labels[:-1], labelled.leaves[:-1], strict=True):
        group, names = _numbered(level_labels)
        # All values of a group have equal leaves, so any of them may be kept.
        group_leaves = np.empty(len(names))
        group_leaves[group] = level_leaves
        if has_null:
            group = np.append(group, np.int32(len(names)))
            names = (*names, None)
            group_leaves = np.append(group_leaves, smallest)
        groups.append(group)
        labels.append(names)
        leaves.append(group_leaves)
    groups.append(np.zeros(codes, dtype=np.int32))
    labels.append((labelled.top_label,) if codes else ())
    leaves.append(np.full(len(labels[-1]), domain_size))
    counted: tuple[NDArray[np.float64], ...] = ()
    loss_domain = 0.0
    if labelled.loss is not None:
        # NULL is one more value of the part, too.
        loss_domain = labelled.loss.domain_size + (domain_size - labelled.domain_size)
        counted = tuple(_counted(labelled.loss, groups, leaves, smallest, loss_domain))
    return AttributeLevels(
        groups=tuple(groups),
        labels=tuple(labels),
        leaves=tuple(leaves),
        domain_size=domain_size,
        continuous=labelled.continuous,
        null_code=values if has_null else None,
        loss_leaves=counted,
        loss_domain=loss_domain,
    )


def _counted(
    loss: CountedLeaves,
    groups: Sequence[NDArray[np.int32]],
    leaves: Sequence[NDArray[np.float64]],
    smallest: float,
    domain: float,
) -> Iterator[NDArray[np.float64]]:
    """Per level, the leaves of each group that loss counts; a group with a value outside of the part costs all.

    So the cost of a record never falls from a level to a higher one, on which all bounds of loss rest.
    """
    values = len(loss.outside)
    at_levels = (np.full(values, smallest), *loss.leaves)
    for level, of_values in enumerate(at_levels):
        of_groups = np.full(len(leaves[level]), smallest)
        np.maximum.at(of_groups, groups[level][:values], np.where(loss.outside, domain, of_values))
        yield of_groups
    yield np.full(len(leaves[-1]), domain)


def _numbered(labels: Sequence[str | None]) -> tuple[NDArray[np.int32], tuple[str | None, ...]]:
    names = sorted({label for label in labels if label is not None})
    numbers = {name: number for number, name in enumerate(names)}
    return np.fromiter((numbers[label] for label in labels if label is not None), np.int32, len(labels)), tuple(names)


_EPOCH = datetime.date(1970, 1, 1).toordinal()

# Intervals as Tableveil writes them, as ARX does, `[20, 40[`, and as people do, `20-39`.
_INTERVAL = re.compile(r"\[(?P<low>[^,]+), (?P<high>[^,]+)[\])\[]|(?P<from>[0-9.]+) ?- ?(?P<to>[0-9.]+)")
_OPEN = re.compile(r"(?:[<>]=?) ?(?P<end>[^ ].*)")
_PERIOD = re.compile(
    r"(?P<year>[0-9]{4})(?:(?P<decade>s)|-Q(?P<quarter>[1-4])|-(?P<month>[0-9]{2})|-W(?P<week>[0-9]{2}))?"
)

_NOTATIONS = {
    ValueKind.INTEGER: Notation.NUMBER,
    ValueKind.DECIMAL: Notation.NUMBER,
    ValueKind.FLOAT: Notation.NUMBER,
    ValueKind.DATE: Notation.DATE,
    ValueKind.TIMESTAMP: Notation.TIMESTAMP,
}
_SECONDS_PER_DAY = 86_400


def middle_reader(kind: ValueKind) -> Callable[[str], float | None] | None:
    """Makes a function from labels of a column of that kind to numbers; None if the kind has no numbers.

    Numbers stand for themselves, and so do dates and timestamps, as days since 1970-01-01. Intervals and periods stand
    for their middle, and open intervals such as `>= 90` for their end. The function returns None for a label without a
    number.
    """
    notation = _NOTATIONS.get(kind)
    if notation is None:
        return None

    def number(text: str) -> float | None:
        number_read = notation.read(text)
        if number_read is None:
            return None
        if notation is Notation.TIMESTAMP:
            # Timestamps count from the first day, which has the ordinal 1 as a date.
            return float(number_read / _SECONDS_PER_DAY + 1 - _EPOCH)
        return float(number_read - _EPOCH if notation is Notation.DATE else number_read)

    def middle(label: str) -> float | None:
        if notation in (Notation.DATE, Notation.TIMESTAMP) and (period := _PERIOD.fullmatch(label)):
            return _middle_of_period(period)
        if interval := _INTERVAL.fullmatch(label):
            low, high = number(interval["low"] or interval["from"]), number(interval["high"] or interval["to"])
            return None if low is None or high is None else low / 2 + high / 2
        if open_ended := _OPEN.fullmatch(label):
            return number(open_ended["end"])
        return number(label)

    return middle


def _middle_of_period(period: re.Match[str]) -> float | None:
    year = int(period["year"])
    try:
        if period["week"]:
            return datetime.date.fromisocalendar(year, int(period["week"]), 4).toordinal() - _EPOCH
        if period["month"]:
            first, months = datetime.date(year, int(period["month"]), 1), 1
        elif period["quarter"]:
            first, months = datetime.date(year, 3 * int(period["quarter"]) - 2, 1), 3
        else:
            first, months = datetime.date(year, 1, 1), 120 if period["decade"] else 12
        after = divmod(first.year * 12 + first.month - 1 + months, 12)
        last = datetime.date(after[0], after[1] + 1, 1).toordinal() - 1
    except ValueError:
        return None
    return (first.toordinal() + last) / 2 - _EPOCH
