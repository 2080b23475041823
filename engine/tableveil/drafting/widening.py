"""Wider bounds for a hierarchy that does not cover all values any more; labels of the values that it covers stay."""

from dataclasses import replace
from decimal import ROUND_CEILING, Decimal

from tableveil.drafting.bounds import number_of, plain, years_around
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.rules import Dates, Intervals, LossRange


def widened(rule: Intervals | Dates, kind: ValueKind, least: str, greatest: str) -> Intervals | Dates:
    """The rule with bounds that hold the values from `least` to `greatest`, with room for more; else the same one.

    Loss is measured over what it was measured over before, so that scores stay comparable. Intervals are widened by
    whole ones of the greatest width, so that each label means what it meant; the last one may have ended early.
    Values of a kind or size that have no bounds, such as infinities, change nothing.
    """
    if isinstance(rule, Dates) or kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
        return _days(rule, least, greatest)
    return _numbers(rule, kind, least, greatest)


def _days(rule: Intervals | Dates, least: str, greatest: str) -> Intervals | Dates:
    around = years_around(least, greatest, births=False)
    # Intervals of days by width start with the minimum: other bounds would move all of them.
    if around is None or (isinstance(rule, Intervals) and rule.widths):
        return rule
    first = around[0] if least[:10] < rule.minimum[:10] else rule.minimum
    last = around[1] if greatest[:10] > rule.maximum[:10] else rule.maximum
    return _with(rule, first, last)


def _numbers(rule: Intervals, kind: ValueKind, least: str, greatest: str) -> Intervals | Dates:
    low, high = number_of(least), number_of(greatest)
    below, above = number_of(rule.minimum), number_of(rule.maximum)
    if low is None or high is None or below is None or above is None:
        return rule
    step = Decimal(rule.widths[-1]) if rule.widths else Decimal(1)
    whole = kind is ValueKind.INTEGER
    minimum, maximum = rule.minimum, rule.maximum
    if low < below and not rule.bottom_coding:
        minimum = plain(below - ((below - low) / step).to_integral_value(ROUND_CEILING) * step)
    if high > above and not rule.top_coding:
        room = (high - below) / 10
        steps = ((high + room + whole - below) / step).to_integral_value(ROUND_CEILING)
        maximum = plain(below + steps * step - whole)
    return _with(rule, minimum, maximum)


def _with(rule: Intervals | Dates, minimum: str, maximum: str) -> Intervals | Dates:
    if (minimum, maximum) == (rule.minimum, rule.maximum):
        return rule
    if isinstance(rule, Dates) and rule.loss_days:
        return replace(rule, minimum=minimum, maximum=maximum)
    counted = rule.loss_range or LossRange(rule.minimum, rule.maximum)
    return replace(rule, minimum=minimum, maximum=maximum, loss_range=counted)
