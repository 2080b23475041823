"""The numbers, days or times that labels of a rule reach from and to, read from their text alone, and their order.

A bound is what the label says, and nothing that the rule or the data know beside it: `>= 90` has no upper bound, and
`2024-Q1` ends with March even if the rule's range does not.
"""

import calendar
import datetime
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tableveil.hierarchy.definition import Combination, HierarchyDefinition, SafeHarborAge, SafeHarborDate
from tableveil.hierarchy.labelled import TOP_LABEL, ValueKind
from tableveil.hierarchy.rules import RULES, SimpleRule
from tableveil.hierarchy.rules.traits import RuleTraits

Point = Decimal | datetime.date | datetime.datetime

_CLOSED = re.compile(r"\[([^,]+), ([^,]+)([\])])")
_BELOW = re.compile(r"< (.+)")
_FROM = re.compile(r">= (.+)|([0-9]+)\+")
_BEFORE = re.compile(r"([0-9]{4}) or before")
_PERIOD = re.compile(r"([0-9]{4})(?:(s)|-Q([1-4])|-([0-9]{2})|-W([0-9]{2}))?")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,6})?[0-9]*(\+00)?")

_LEADING = "[({<>=≤≥ "
_PARTS = re.compile(r"[0-9]+|[^0-9]+")
_DIGIT = "0123456789"
_DIGITS = 40


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value under a label; None if it is open at that end.

    `high_included` says whether the greatest is one of the values; the least always is.
    """

    low: Point | None = None
    high: Point | None = None
    high_included: bool = True


def bounds_kind(hierarchy: HierarchyDefinition | None, kind: ValueKind) -> ValueKind | None:
    """The kind of the bounds that a rule declares for the labels of a column of a kind; None if it declares none.

    They are whole or other numbers, dates or timestamps. No hierarchy stands for the intervals of an aggregated column.
    """
    match hierarchy:
        case None:
            return kind.ends
        case SafeHarborDate():
            return ValueKind.DATE
        case SafeHarborAge():
            return ValueKind.INTEGER
        case Combination(_, rest):
            return bounds_kind(rest, kind)
        case _:
            traits = _traits(hierarchy)
            return traits.bounds(kind) if traits is not None else None


def listed_labels(hierarchy: HierarchyDefinition | None) -> Collection[str]:
    """The labels that no rule declares: those of the rows of a combination, and their values."""
    if not isinstance(hierarchy, Combination):
        return ()
    return {label for row in hierarchy.rows for label in row if label != TOP_LABEL}


def read_bounds(kind: ValueKind, label: str) -> Bounds | None:
    """The bounds of a rule's label, of that kind; None if it has none, as `*`."""
    point = _POINTS[kind]
    try:
        if closed := _CLOSED.fullmatch(label):
            low, high = point(closed[1]), point(closed[2])
            return None if low is None or high is None else Bounds(low, high, closed[3] == "]")
        if below := _BELOW.fullmatch(label):
            return _below(kind, point(below[1]))
        if above := _FROM.fullmatch(label):
            low_point = point(above[1] or above[2])
            return None if low_point is None else Bounds(low=low_point)
        if kind is ValueKind.DATE and (before := _BEFORE.fullmatch(label)):
            return Bounds(high=datetime.date(int(before[1]), 12, 31))
        if kind is ValueKind.DATE and (period := _PERIOD.fullmatch(label)):
            return _period(period)
        low_point = point(label)
        return None if low_point is None else Bounds(low_point, low_point)
    except (ValueError, OverflowError):
        return None


def _below(kind: ValueKind, high: Point | None) -> Bounds | None:
    """Whole numbers and days end with the last one before."""
    if high is None:
        return None
    if kind is ValueKind.INTEGER and isinstance(high, Decimal):
        return Bounds(high=Decimal(int(high) - 1))
    if kind is ValueKind.DATE and isinstance(high, datetime.date):
        return Bounds(high=high - datetime.timedelta(days=1))
    return Bounds(high=high, high_included=False)


def _period(match: re.Match[str]) -> Bounds:
    year, decade, quarter, month, week = match.groups()
    first_year = int(year)
    if week:
        monday = datetime.date.fromisocalendar(first_year, int(week), 1)
        # The last week of all ends with the last day that there is.
        return Bounds(monday, min(monday, datetime.date.max - datetime.timedelta(6)) + datetime.timedelta(6))
    if decade:
        return Bounds(datetime.date(max(first_year, 1), 1, 1), datetime.date(first_year + 9, 12, 31))
    first, last = (3 * int(quarter) - 2, 3 * int(quarter)) if quarter else (int(month or 1), int(month or 12))
    return Bounds(
        datetime.date(first_year, first, 1), datetime.date(first_year, last, calendar.monthrange(first_year, last)[1])
    )


def _number(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _date(text: str) -> datetime.date | None:
    """The day; of a timestamp, the one that it lies on."""
    if _DAY.fullmatch(text) or _TIME.fullmatch(text):
        return datetime.date.fromisoformat(text[:10])
    return None


def _time(text: str) -> datetime.datetime | None:
    match = _TIME.fullmatch(text)
    return datetime.datetime.fromisoformat(f"{match[1]} {match[2]}{match[3] or ''}") if match else None


_POINTS: Mapping[ValueKind, Callable[[str], Point | None]] = {
    ValueKind.INTEGER: _number,
    ValueKind.FLOAT: _number,
    ValueKind.DATE: _date,
    ValueKind.TIMESTAMP: _time,
}


# --- the order of labels --------------------------------------------------------------------------------------------


def in_order(
    hierarchy: HierarchyDefinition | None, labels: Sequence[str], bounds: Sequence[Bounds | None]
) -> list[int]:
    """The positions of different labels, from the least label to the greatest.

    By their bounds, the narrower of two that begin alike first, then those without bounds: in the order that the rule
    declares, and others by the numbers in them, or as texts if the rule says so. `*` is the last.
    """
    traits = _traits(hierarchy)
    places = traits.places(hierarchy) if traits is not None else {}
    as_texts = traits is not None and not traits.natural

    def key(position: int) -> tuple[object, ...]:
        label, bounds_here = labels[position], bounds[position]
        if bounds_here is not None:
            low = bounds_here.high if bounds_here.low is None else bounds_here.low
            high = bounds_here.low if bounds_here.high is None else bounds_here.high
            return (0, bounds_here.low is not None, low, bounds_here.high is None, high, label)
        if label == TOP_LABEL:
            return (3,)
        if label in places:
            return (1, *places[label], label)
        return (2, [] if as_texts else natural(label), label)

    return sorted(range(len(labels)), key=key)


def natural(label: str) -> list[str]:
    """A key by which `< 5`, `5-9` and `10-14` are in this order."""
    return [part.zfill(_DIGITS) if part[0] in _DIGIT else part for part in _PARTS.findall(label.lstrip(_LEADING))]


def _traits(hierarchy: HierarchyDefinition | None) -> RuleTraits[Any] | None:
    return RULES[type(hierarchy)] if isinstance(hierarchy, SimpleRule) else None
