"""Groups of values, and groups of groups, as the policy lists them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault, NearestNames, shortened
from tableveil.hierarchy.labelled import TOP_LABEL, LabelledValues, ValueKind
from tableveil.hierarchy.rules.traits import Representatives, RuleTraits


@dataclass(frozen=True, slots=True)
class Group:
    """A label and its members: values as text at level 1, labels of the level below at higher levels."""

    label: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupingLevel:
    """The groups of one level; `others`, if not empty, is the label of all values in none of them."""

    groups: tuple[Group, ...]
    others: str = ""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of values, then groups of these groups, from level 1 upwards."""

    levels: tuple[GroupingLevel, ...]

    def __str__(self) -> str:
        return f"groups, {' then '.join(str(len(level.groups) + bool(level.others)) for level in self.levels)}"


def check(rule: Grouping, field: str, kind: ValueKind | None) -> list[Fault]:
    """Lists the faults of the rule; values are compared as text, so it fits every column."""
    if not rule.levels:
        hint = "To release the value itself or '*', use suppression_only."
        return [Fault(f"{field}.levels", "no levels", "at least one level of groups", hint)]
    faults: list[Fault] = []
    for number, level in enumerate(rule.levels):
        path = f"{field}.levels[{number}]"
        faults += [*_label_faults(level, path), *_member_faults(level, path)]
        if number:
            faults += _step_faults(rule.levels[number - 1], level, number, path)
    return faults


def _labels(level: GroupingLevel) -> list[str]:
    return [group.label for group in level.groups] + [level.others] * bool(level.others)


def _label_faults(level: GroupingLevel, path: str) -> Iterator[Fault]:
    labels = _labels(level)
    if len(labels) < 2:
        actual = f"{len(labels)} group" if labels else "no groups"
        hint = "One label for all is the top, which every hierarchy has: leave the level out."
        yield Fault(f"{path}.groups", actual, "at least two groups, or one and a label of others", hint)
    first: dict[str, int] = {}
    for index, label in enumerate(labels):
        at = f"{path}.groups[{index}].label" if index < len(level.groups) else f"{path}.others"
        if label in ("", TOP_LABEL):
            yield Fault(at, shortened(label) if label else "nothing", f"a label other than {TOP_LABEL!r}, the top's")
        elif first.setdefault(label, index) != index:
            hint = "Give one group all members of both."
            yield Fault(at, f"{shortened(label)} as of groups[{first[label]}]", "a label of its own", hint)


def _member_faults(level: GroupingLevel, path: str) -> Iterator[Fault]:
    first: dict[str, str] = {}
    overlapping: list[Fault] = []
    for index, group in enumerate(level.groups):
        if not group.members:
            yield Fault(f"{path}.groups[{index}].members", "no members", "at least one member of the group")
        for place, member in enumerate(group.members):
            at = f"groups[{index}].members[{place}]"
            if first.setdefault(member, at) != at:
                actual = f"{shortened(member)} as in {first[member]}"
                overlapping.append(Fault(f"{path}.{at}", actual, "every member in one group, once"))
    yield from _first_of(overlapping, "overlapping member")


def _step_faults(below: GroupingLevel, level: GroupingLevel, number: int, path: str) -> Iterator[Fault]:
    """The reasons why the groups of a level are not made of the groups below."""
    labels = _labels(below)
    distinct_labels = set(labels)
    members = [
        (f"{path}.groups[{index}].members[{place}]", member)
        for index, group in enumerate(level.groups)
        for place, member in enumerate(group.members)
    ]
    expected = f"a label of levels[{number - 1}]"
    nearest = NearestNames(labels)
    unknown = [
        Fault(at, shortened(member), expected, nearest(member))
        for at, member in members
        if member not in distinct_labels
    ]
    yield from _first_of(unknown, "unknown label")
    left = [label for label in labels if label not in {member for _, member in members}]
    if left and not level.others:
        hint = "List it in a group, in one of its own if it stays as it is, or give the level a label of others."
        actual = f"{shortened(left[0])} of levels[{number - 1}] in no group; {len(left):,} without one"
        yield Fault(f"{path}.groups", actual, "every group of the level below in a group", hint)


def _first_of(faults: Sequence[Fault], what: str) -> Iterator[Fault]:
    """One fault for all faults of a kind, with the first as the example."""
    if faults:
        first = faults[0]
        count = f"{len(faults):,} {what}{'s' * (len(faults) > 1)}"
        yield Fault(first.field, f"{first.found}; {count}", first.expected, first.hint)


def label(
    rule: Grouping, kind: ValueKind, values: Sequence[object], texts: Sequence[str], own: NDArray[np.bool_]
) -> LabelledValues:
    """Looks the values up by their text.

    |H| is the number of listed values, and the leaves of a label are the listed values below it. If level 1 has a label
    for others, all other values get it, and those that occur (the `own` values) count as well; if it has none, they are
    not covered.
    """
    listed = _labels_of_values(rule)
    others = _labels_of_others(rule)
    labelled = [listed.get(text, others) for text in texts]
    covered = np.fromiter((labels is not None for labels in labelled), np.bool_, len(labelled))
    listed_labels = [labels for labels in labelled if labels is not None]
    unlisted = 0
    if others is not None:
        unlisted = sum(text not in listed for text, counts in zip(texts, own.tolist(), strict=True) if counts)

    def levels() -> Iterator[tuple[list[str], NDArray[np.float64]]]:
        for level in range(len(rule.levels)):
            leaves = Counter(labels[level] for labels in listed.values())
            if others is not None:
                leaves[others[level]] += unlisted
            names = [labels[level] for labels in listed_labels]
            yield names, np.fromiter((leaves[name] for name in names), np.float64, len(names))

    return LabelledValues.of(covered, levels(), float(len(listed) + unlisted))


def _labels_of_values(rule: Grouping) -> dict[str, tuple[str, ...]]:
    """Per listed value its labels from level 1 to the level below the top."""
    first, *above = rule.levels
    steps = [_step(level) for level in above]
    labels: dict[str, tuple[str, ...]] = {}
    for group in first.groups:
        upward = _upward(group.label, above, steps)
        labels.update(dict.fromkeys(group.members, upward))
    return labels


def _labels_of_others(rule: Grouping) -> tuple[str, ...] | None:
    first, *above = rule.levels
    return _upward(first.others, above, [_step(level) for level in above]) if first.others else None


def _step(level: GroupingLevel) -> dict[str, str]:
    return {member: group.label for group in level.groups for member in group.members}


def _upward(label: str, above: Sequence[GroupingLevel], steps: Sequence[dict[str, str]]) -> tuple[str, ...]:
    labels = [label]
    for level, step in zip(above, steps, strict=True):
        labels.append(step.get(labels[-1], level.others))
    return tuple(labels)


GROUPING = RuleTraits(
    field="grouping",
    kind=Grouping,
    check=check,
    label=label,
    representatives=lambda rule: Representatives.of_texts([*_step(rule.levels[0])]),
)
