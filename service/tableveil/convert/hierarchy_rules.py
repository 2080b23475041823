"""Rules of hierarchies, which need no rows: messages to definitions and back."""

from __future__ import annotations

from tableveil.convert.collect import Faults
from tableveil.convert.enums import DATE_UNITS, MASK_FROM, ORDER_LABELS, PAD_AT
from tableveil.hierarchy import (
    MASK,
    Combination,
    Dates,
    DateUnit,
    DayPart,
    Group,
    Grouping,
    GroupingLevel,
    Intervals,
    MaskFrom,
    OrderBased,
    OrderLabels,
    Redaction,
    RuleHierarchy,
    SimpleRule,
    SuppressionOnly,
    TimeLevel,
    TimesOfDay,
)
from tableveil.v1 import policy_pb2

_SIMPLE = ("intervals", "dates", "redaction", "suppression_only", "grouping", "order_based", "times_of_day")
RULES = (*_SIMPLE, "combination")
"""Members of the message's oneof that hold a rule."""


def rule_from_proto(message: policy_pb2.Hierarchy, path: str, faults: Faults) -> RuleHierarchy | None:
    """The rule in a message that holds one, or None after adding to `faults`; `path` is the message's."""
    if message.WhichOneof("kind") == "combination":
        return _combination(message.combination, f"{path}.combination", faults)
    return _simple(message, path, faults)


def _simple(message: policy_pb2.Hierarchy, path: str, faults: Faults) -> SimpleRule | None:
    kind = message.WhichOneof("kind")
    match kind:
        case "intervals":
            return _intervals(message.intervals)
        case "dates":
            return _dates(message.dates, f"{path}.dates", faults)
        case "redaction":
            return _redaction(message.redaction, f"{path}.redaction", faults)
        case "suppression_only":
            return SuppressionOnly()
        case "grouping":
            return _grouping(message.grouping)
        case "order_based":
            return _order_based(message.order_based, f"{path}.order_based", faults)
        case "times_of_day":
            return _times_of_day(message.times_of_day)
        case _:
            at = f"{path}.{kind}" if kind else path
            faults.add(
                at, kind or "nothing", f"one of {', '.join(_SIMPLE)}", "Values can have rows beside a rule only."
            )
            return None


def _intervals(message: policy_pb2.Intervals) -> Intervals:
    return Intervals(
        message.minimum,
        message.maximum,
        tuple(message.widths),
        message.bottom_coding,
        message.top_coding,
        tuple(tuple(level.values) for level in message.boundaries),
    )


def _dates(message: policy_pb2.Dates, path: str, faults: Faults) -> Dates | None:
    units = [DATE_UNITS.from_proto(number) for number in message.units]
    for index, unit in enumerate(units):
        if unit is None:
            faults.add_enum(f"{path}.units[{index}]", message.units[index], DATE_UNITS)
    known: tuple[DateUnit, ...] = tuple(unit for unit in units if unit is not None)
    return Dates(message.minimum, message.maximum, known) if len(known) == len(units) else None


def _redaction(message: policy_pb2.Redaction, path: str, faults: Faults) -> Redaction:
    return Redaction(
        message.length,
        message.alphabet_size,
        faults.enum(message.mask_from, MASK_FROM, f"{path}.mask_from", MaskFrom.RIGHT),
        message.step or 1,
        message.alphabet,
        message.mask or MASK,
        message.padding,
        faults.enum_or_none(message.pad_at, PAD_AT, f"{path}.pad_at"),
    )


def _grouping(message: policy_pb2.Grouping) -> Grouping:
    return Grouping(
        tuple(
            GroupingLevel(tuple(Group(group.label, tuple(group.members)) for group in level.groups), level.others)
            for level in message.levels
        )
    )


def _order_based(message: policy_pb2.OrderBased, path: str, faults: Faults) -> OrderBased:
    labels = faults.enum(message.labels, ORDER_LABELS, f"{path}.labels", OrderLabels.INTERVAL)
    return OrderBased(tuple(message.values), tuple(message.fan_outs), labels)


def _times_of_day(message: policy_pb2.TimesOfDay) -> TimesOfDay:
    return TimesOfDay(
        tuple(
            TimeLevel(level.width, tuple(DayPart(part.start, part.label) for part in level.parts))
            for level in message.levels
        )
    )


def _combination(message: policy_pb2.Combination, path: str, faults: Faults) -> Combination | None:
    rest = _simple(message.rest, f"{path}.rest", faults)
    rows = tuple(tuple(row.labels) for row in message.rows)
    return None if rest is None else Combination(rows, rest)


def rule_to_proto(rule: RuleHierarchy) -> policy_pb2.Hierarchy:
    """The message for a rule."""
    match rule:
        case Intervals(minimum, maximum, widths, bottom, top, boundaries):
            intervals = policy_pb2.Intervals(
                minimum=minimum,
                maximum=maximum,
                widths=widths,
                bottom_coding=bottom,
                top_coding=top,
                boundaries=[policy_pb2.Boundaries(values=bounds) for bounds in boundaries],
            )
            return policy_pb2.Hierarchy(intervals=intervals)
        case Dates(minimum, maximum, units):
            numbers = [DATE_UNITS.to_proto(unit) for unit in units]
            return policy_pb2.Hierarchy(dates=policy_pb2.Dates(minimum=minimum, maximum=maximum, units=numbers))
        case Redaction():
            return policy_pb2.Hierarchy(redaction=_redaction_to_proto(rule))
        case SuppressionOnly():
            return policy_pb2.Hierarchy(suppression_only=policy_pb2.SuppressionOnly())
        case Grouping(levels):
            return policy_pb2.Hierarchy(
                grouping=policy_pb2.Grouping(levels=[_grouping_level_to_proto(level) for level in levels])
            )
        case OrderBased(values, fan_outs, labels):
            order_based = policy_pb2.OrderBased(values=values, fan_outs=fan_outs, labels=ORDER_LABELS.to_proto(labels))
            return policy_pb2.Hierarchy(order_based=order_based)
        case TimesOfDay(levels):
            return policy_pb2.Hierarchy(
                times_of_day=policy_pb2.TimesOfDay(levels=[_time_level_to_proto(level) for level in levels])
            )
        case Combination(rows, rest):
            combination = policy_pb2.Combination(
                rows=[policy_pb2.HierarchyRow(labels=row) for row in rows], rest=rule_to_proto(rest)
            )
            return policy_pb2.Hierarchy(combination=combination)


def _redaction_to_proto(rule: Redaction) -> policy_pb2.Redaction:
    return policy_pb2.Redaction(
        mask_from=MASK_FROM.to_proto(rule.mask_from),
        length=rule.length,
        alphabet_size=rule.alphabet_size,
        step=rule.step,
        alphabet=rule.alphabet,
        mask=rule.mask,
        padding=rule.padding,
        pad_at=PAD_AT.to_proto(rule.pad_at),
    )


def _grouping_level_to_proto(level: GroupingLevel) -> policy_pb2.GroupingLevel:
    groups = [policy_pb2.Group(label=group.label, members=group.members) for group in level.groups]
    return policy_pb2.GroupingLevel(groups=groups, others=level.others)


def _time_level_to_proto(level: TimeLevel) -> policy_pb2.TimeLevel:
    parts = [policy_pb2.DayPart(start=part.start, label=part.label) for part in level.parts]
    return policy_pb2.TimeLevel(width=level.width, parts=parts)
