"""Values in a declared order, grouped by counting off neighbours."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.labelled import TOP_LABEL, ValueKind
from tableveil.hierarchy.listed import label_rows
from tableveil.hierarchy.rules.traits import Representatives, RuleTraits


class OrderLabels(StrEnum):
    """How a group of neighbouring values is named: by its ends, `[low, high]`, or by all of them, `{a, b, c}`."""

    INTERVAL = "INTERVAL"
    SET = "SET"


@dataclass(frozen=True, slots=True)
class OrderBased:
    """Declared values in order: `fan_outs[0]` of them form a group of level 1; `fan_outs[i]` groups form one above."""

    values: tuple[str, ...]
    fan_outs: tuple[int, ...]
    labels: OrderLabels = OrderLabels.INTERVAL

    def __str__(self) -> str:
        return f"{len(self.values)} ordered values, grouped by {', then '.join(map(str, self.fan_outs))}"


def check(rule: OrderBased, field: str, kind: ValueKind | None) -> list[Fault]:
    """Lists the faults of the rule; values are compared as text, so it fits every column."""
    faults: list[Fault] = []
    if len(rule.values) < 2:
        actual = f"{len(rule.values)} values"
        faults.append(Fault(f"{field}.values", actual, "at least two values, in their order"))
    repeated = [value for value, count in Counter(rule.values).items() if count > 1]
    if repeated:
        first = rule.values.index(repeated[0])
        second = rule.values.index(repeated[0], first + 1)
        actual = f"{shortened(repeated[0])} as in values[{first}]; {len(repeated):,} repeated"
        faults.append(Fault(f"{field}.values[{second}]", actual, "every value once"))
    faults += _fan_out_faults(rule, field)
    return faults or _alike(rule, field)


def _fan_out_faults(rule: OrderBased, field: str) -> list[Fault]:
    if not rule.fan_outs:
        hint = "To release the value itself or '*', use suppression_only."
        return [Fault(f"{field}.fan_outs", "no fan-outs", "how many values make a group of level 1, at least", hint)]
    faults = []
    groups = len(rule.values)
    for index, fan_out in enumerate(rule.fan_outs):
        path = f"{field}.fan_outs[{index}]"
        below = "groups of the level below" if index else "values"
        if fan_out < 2:
            faults.append(Fault(path, str(fan_out), f"at least 2 {below} in a group"))
        elif 2 <= groups <= fan_out:
            hint = "One group of all is the top, which every hierarchy has."
            faults.append(Fault(path, str(fan_out), f"fewer than the {groups} {below}", hint))
        else:
            groups = -(-groups // fan_out)
    return faults


def _alike(rule: OrderBased, field: str) -> list[Fault]:
    """Faults of values that look like the label of other values, or of labels of different values that look alike."""
    for level, groups in enumerate(_groups(rule), start=1):
        seen: dict[str, int] = {}
        for number, group in enumerate(groups):
            label = _label(rule, group)
            if label == TOP_LABEL or seen.setdefault(label, number) != number:
                actual = f"{shortened(label)} for more than one group of level {level}"
                hint = "Choose other labels, or write the groups out as a grouping."
                return [Fault(f"{field}.labels", actual, "a label of its own for every group, but '*'", hint)]
    return []


def rows(rule: OrderBased) -> tuple[tuple[str, ...], ...]:
    """The levels, written out.

    Level 1 has groups of `fan_outs[0]` neighbouring values, level i has groups of `fan_outs[i - 1]` groups of the level
    below; the last group of a level holds the remainder. A group of one value has that value as its label. |H| is the
    number of values.
    """
    columns = [[label for group in groups for label in [_label(rule, group)] * len(group)] for groups in _groups(rule)]
    top = [TOP_LABEL] * len(rule.values)
    return tuple(zip(rule.values, *columns, top, strict=True))


def places(rule: OrderBased) -> dict[str, tuple[int, int]]:
    """Per label the first and the last of the values under it."""
    ends: dict[str, tuple[int, int]] = {}
    for place, row in enumerate(rows(rule)):
        for label in row:
            ends[label] = (ends.get(label, (place, place))[0], place)
    return ends


def _groups(rule: OrderBased) -> list[list[tuple[str, ...]]]:
    """Per level from 1 on the groups, as their values."""
    size = 1
    levels = []
    for fan_out in rule.fan_outs:
        size *= fan_out
        levels.append([rule.values[start : start + size] for start in range(0, len(rule.values), size)])
    return levels


def _label(rule: OrderBased, group: Sequence[str]) -> str:
    if len(group) == 1:
        return group[0]
    if rule.labels is OrderLabels.SET:
        return f"{{{', '.join(group)}}}"
    return f"[{group[0]}, {group[-1]}]"


ORDER_BASED = RuleTraits(
    field="order_based",
    kind=OrderBased,
    check=check,
    label=lambda rule, kind, values, texts, own: label_rows(rows(rule), texts),
    representatives=lambda rule: Representatives.of_texts(rule.values),
    places=places,
)
