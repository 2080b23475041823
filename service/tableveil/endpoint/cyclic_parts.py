"""Parts of estimated values that come back again and again: weekdays, months of the year, hours, remainders.

No assumption about what lies under a label tells them where the label holds several of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from typing import Any

from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint.labels import LabelColumn, Look, ReleasedLabels

_CYCLE = Callable[[Any], object]


def _itself(value: Any) -> object:
    return value


def _month(value: Any) -> object:
    return (value.year, value.month)


def _quarter(value: Any) -> object:
    return (value.year, (value.month - 1) // 3)


def _week(value: Any) -> object:
    return value.isocalendar()[:2]


def _hour(value: Any) -> object:
    return value.replace(minute=0, second=0, microsecond=0)


_CYCLES: dict[str, _CYCLE] = {
    **dict.fromkeys(("month", "months", "mon", "mons", "monthname"), _month),
    **dict.fromkeys(("quarter", "quarters"), _quarter),
    **dict.fromkeys(("week", "weeks", "w", "weekofyear"), _week),
    **dict.fromkeys(("hour", "hours", "h", "hr", "hrs"), _hour),
    **dict.fromkeys(
        (
            *("day", "days", "d", "dayofmonth", "dayofweek", "dow", "isodow", "weekday", "dayname", "dayofyear", "doy"),
            *("minute", "minutes", "second", "seconds", "millisecond", "milliseconds", "microsecond", "microseconds"),
        ),
        _itself,
    ),
}
"""The parts of a date or time, each with what two times have in common if that is enough to tell the part."""

_PARTS = frozenset({"date_part", "datepart"})
_LONG = frozenset(
    (
        *("year", "years", "y", "yr", "yrs", "isoyear", "yearweek", "decade", "decades", "century", "centuries"),
        *("millennium", "era", "epoch", "julian"),
    )
)
"""Parts that never come back."""

_CYCLIC_FORMATS = frozenset("aAwujUWV")
_NEEDED = {"m": "Yy", "b": "Yy", "B": "Yy", "d": "mbB", "H": "d", "I": "d", "M": "HI", "S": "M"}
"""The parts of a format of which one must stand beside a part, or this comes back."""

Estimates = Callable[[exp.Expr], Iterator[LabelColumn]]


def cyclic(node: exp.Expr) -> tuple[exp.Expr, _CYCLE] | None:
    """The value of which a node takes a cyclic part, and what decides upon the part; None if it takes none."""
    if isinstance(node, exp.Mod):
        return node.this, _itself
    if isinstance(node, exp.Extract):
        return _named(node.name, node.expression)
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return (node.this, _itself) if node.to.this is exp.DType.TIME else None
    if not isinstance(node, exp.Anonymous) or not node.expressions:
        return None
    name, first = folded(node.name), node.expressions[0]
    if name == "mod":
        return first, _itself
    if name in _PARTS and len(node.expressions) > 1:
        return _named(first.name if isinstance(first, exp.Literal) else "", node.expressions[1])
    if name == "strftime" and len(node.expressions) > 1:
        lonely = _lonely(node.expressions[1])
        return (first, _month if lonely <= {"m", "b", "B"} else _itself) if lonely else None
    return _named(name, first) if name in _CYCLES else None


def too_wide(node: exp.Expr, estimates: Estimates, look: Look) -> tuple[LabelColumn, str] | None:
    """The column of labels that hold several values of a cyclic part that a node takes, and one of them."""
    found = cyclic(node)
    if found is None:
        return None
    value, cycle = found
    for column in estimates(value):
        for text in _wide(look.labels(column), cycle if column.of_time else _itself):
            return column, text
    return None


def _named(part: str, value: exp.Expr) -> tuple[exp.Expr, _CYCLE] | None:
    return None if folded(part) in _LONG else (value, _CYCLES.get(folded(part), _itself))


def _lonely(written: exp.Expr) -> set[str]:
    """The parts of a format that come back, since none of the longer parts around them stands beside them."""
    if not isinstance(written, exp.Literal):
        return {""}
    parts = {written.name[i + 1 : i + 2] for i, sign in enumerate(written.name) if sign == "%"}
    return {part for part in parts if part in _CYCLIC_FORMATS or not set(_NEEDED.get(part, part)) & parts}


def _wide(labels: ReleasedLabels, cycle: _CYCLE) -> Collection[str]:
    """The labels whose least and greatest values do not have the part in common, and those without a bound."""
    return [
        label.text
        for label in labels.by_text.values()
        if label.low is None or label.high is None or cycle(label.low) != cycle(_last(labels, label.low, label.high))
    ]


def _last(labels: ReleasedLabels, low: Any, high: Any) -> Any:
    """The last value below an upper bound of times that is no value itself."""
    excluded = labels.column.bounds == "TIMESTAMP" and low < high and isinstance(high, datetime)
    return high - timedelta(microseconds=1) if excluded else high
