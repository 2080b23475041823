"""Parts of estimated values that come back again and again: weekdays, months of the year, hours, remainders.

No assumption about what lies under a label tells them where the label holds several of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint.labels import Label, LabelColumn, LookInFiles

_Cycle = Callable[[Any], object]

_CYCLES: dict[str, _Cycle] = {
    **dict.fromkeys(("month", "months", "mon", "mons", "monthname"), lambda time: (time.year, time.month)),
    **dict.fromkeys(("quarter", "quarters"), lambda time: (time.year, (time.month - 1) // 3)),
    **dict.fromkeys(("week", "weeks", "w", "weekofyear"), lambda time: time.isocalendar()[:2]),
    **dict.fromkeys(("hour", "hours", "h", "hr", "hrs"), lambda time: (time.date(), time.hour)),
}
"""Parts of a time, each with what two times have in common if that is enough to tell the part."""

_CALLS = "day dayofmonth dayofweek dayofyear dayname isodow weekday minute second millisecond microsecond"
"""Functions of other parts, which only the time itself tells."""

_LONG = "year years y yr yrs isoyear yearweek decade decades century centuries millennium era epoch julian"
"""Parts that never come back."""

_TRUNCATED = "Y Ym Ymd YmdH YmdHM YmdHMS"
_SAME = str.maketrans("ybBI", "YmmH")


def _itself(value: Any) -> object:
    return value


def cyclic(node: exp.Expr) -> tuple[exp.Expr, _Cycle] | None:
    """The value of which a node takes a cyclic part, and what decides upon the part; None if it takes none."""
    if isinstance(node, exp.Mod):
        return node.this, _itself
    if isinstance(node, exp.Extract):
        return _named(node.name, node.expression)
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return (node.this, _itself) if node.to.this is exp.DType.TIME else None
    if not isinstance(node, exp.Anonymous) or not node.expressions:
        return None
    name, first, *others = folded(node.name), *node.expressions
    if name in ("date_part", "datepart") and others:
        return _named(first.name if isinstance(first, exp.Literal) else "", others[0])
    if name == "strftime" and others:
        return _formatted(others[0], first)
    return (first, _CYCLES.get(name, _itself)) if name in _CYCLES or name in ("mod", *_CALLS.split()) else None


def too_wide(
    node: exp.Expr, estimates: Callable[[exp.Expr], Iterator[LabelColumn]], look: LookInFiles
) -> tuple[LabelColumn, str] | None:
    """The column of labels that hold several values of a cyclic part that a node takes, and one of them."""
    found = cyclic(node)
    for column in estimates(found[0]) if found is not None else ():
        cycle = found[1] if found is not None and column.of_time else _itself
        for label in look.labels(column).by_text.values():
            if cycle(label.low[0]) != cycle(_last(label)):
                return column, label.text
    return None


def _named(part: str, value: exp.Expr) -> tuple[exp.Expr, _Cycle] | None:
    return None if folded(part) in _LONG.split() else (value, _CYCLES.get(folded(part), _itself))


def _formatted(written: exp.Expr, value: exp.Expr) -> tuple[exp.Expr, _Cycle] | None:
    """A format is a truncation if it has a part with all longer ones."""
    text = written.name if isinstance(written, exp.Literal) else "%?"
    parts = {text[i + 1 : i + 2].translate(_SAME) for i, sign in enumerate(text) if sign == "%"}
    if any(parts == set(truncated) for truncated in _TRUNCATED.split()):
        return None
    return value, _CYCLES["month"] if parts == {"m"} else _itself


def _last(label: Label) -> Any:
    """The greatest value under a label."""
    value, excluded = label.high
    return value - timedelta(microseconds=1) if excluded and hasattr(value, "year") else value
