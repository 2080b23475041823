"""The grammar of an analyst's statement: which parts sqlglot's tree of it may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint.grammar import ANSWERS, COLUMNS, FUNCTIONS, MADE, NODES, SERIES, TYPES, UNNEST, AnalystSql
from tableveil.errors import InvalidError, nearest, shortened

FIELD = "statement"
MOST_IN_SERIES = 1_000_000
"""The most numbers or times that one call of a series may give."""

_WORD = re.compile(r"[A-Za-z_]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?")
_PARTS_OF_TABLES = {"this", "db", "catalog", "alias", "joins", "sample", "laterals", "pivots"}
_SECONDS = {
    "MICROSECOND": 1e-6,
    "MILLISECOND": 1e-3,
    "SECOND": 1.0,
    "MINUTE": 60.0,
    "HOUR": 3_600.0,
    "DAY": 86_400.0,
    "WEEK": 604_800.0,
    "MONTH": 28 * 86_400.0,
    "QUARTER": 90 * 86_400.0,
    "YEAR": 365 * 86_400.0,
}
"""At least so many seconds has each unit."""


def require_allowed(tree: exp.Expr) -> None:
    """Raises `InvalidError` if a part is none of those that only compute."""
    for node in tree.walk():
        kind = type(node)
        if kind not in NODES:
            raise refused(f"{node.key.upper()}", "parts of SELECT that only compute")
        for checked, require in _REQUIRED.items():
            if isinstance(node, checked):
                require(node)


def _require_type(node: exp.DataType) -> None:
    if node.this not in TYPES:
        raise refused(f"the type {shortened(node.sql(AnalystSql))}", "a type of values")


def _require_word(node: exp.Var) -> None:
    if not _WORD.fullmatch(node.name):
        raise refused(shortened(node.name), "a word")


def _require_literal(node: exp.Literal) -> None:
    if not node.is_string and not _NUMBER.fullmatch(node.name):
        raise refused(shortened(node.name), "a number")


def _require_parameter(node: exp.Placeholder) -> None:
    if node.name not in ("", "?") and not node.name.isdecimal() and not _NAME.fullmatch(node.name):
        raise refused(f"the parameter {shortened(node.name)}", "?, a number such as $1, or a name such as $age")


def _require_table(node: exp.Table) -> None:
    parts = {part for part, value in node.args.items() if value}
    if more := parts - _PARTS_OF_TABLES:
        raise refused(f"{', '.join(sorted(more)).upper()} of a table", "a table as it is")


def _require_part_of_answer(node: exp.Dot) -> None:
    if not (_is_answer(node.this) and isinstance(node.expression, exp.Identifier)):
        raise refused("a part of a value", "parts of what functions of labels answer, such as (tv_mean(age)).low")


def _require_lateral_rows(node: exp.Lateral) -> None:
    if not isinstance(node.this, (exp.Subquery, exp.Unnest)):
        raise refused("a table function", "tables of releases")


def _require_listed(node: exp.In) -> None:
    if isinstance(node.parent, exp.Pivot) and node.args.get("field") is not None:
        raise refused("a name in IN", "values in brackets")


def _is_answer(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Anonymous) and folded(node.name) in ANSWERS


def _require_call(node: exp.Anonymous) -> None:
    name = folded(node.name)
    stands_in_from = isinstance(node.parent, exp.Table)
    if name in SERIES:
        _require_short(node)
    elif name == COLUMNS and not stands_in_from:
        _require_names(node)
    elif name not in (SERIES if stands_in_from else FUNCTIONS | ANSWERS | MADE | {UNNEST}):
        hint = nearest(name, SERIES if stands_in_from else FUNCTIONS | ANSWERS) or ""
        raise refused(f"the function {shortened(name)}", "a function that only computes", hint)


def _require_names(node: exp.Anonymous) -> None:
    """COLUMNS takes a star, a pattern, or a list of names; no function of names."""
    (named,) = node.expressions if len(node.expressions) == 1 else (None,)
    items = named.expressions if isinstance(named, exp.Array) else [named]
    if not isinstance(named, exp.Star) and not all(isinstance(item, exp.Literal) and item.is_string for item in items):
        raise refused("COLUMNS of something else", "COLUMNS(*), COLUMNS('pattern') or COLUMNS(['name', 'name'])")


def _require_short(node: exp.Anonymous) -> None:
    """A series has ends that are written down, and few enough steps between them."""
    values = [value for argument in node.expressions if (value := _point(argument)) is not None]
    expected = f"numbers, dates or times as they are, with at most {MOST_IN_SERIES:,} steps between them"
    if not 1 <= len(values) <= 3 or len(values) < len(node.expressions):
        raise refused(f"{shortened(node.name)} of something else", expected)
    first, last, step = (0.0, values[0], 1.0) if len(values) == 1 else (*values, 1.0)[:3]
    if step and abs((last - first) / step) > MOST_IN_SERIES:
        raise refused(f"{shortened(node.name)} of more steps", expected)


def _point(node: exp.Expr) -> float | None:
    """A number, a date or time in seconds, or the least seconds of an interval, if it is written down."""
    if isinstance(node, exp.Neg):
        value = _point(node.this)
        return None if value is None else -value
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal():
        return float(node.name)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        try:
            return (datetime.fromisoformat(node.this.name).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
        except ValueError:
            return None
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal) and isinstance(node.unit, exp.Var):
        seconds = _SECONDS.get(node.unit.name.upper().removesuffix("S"))
        number = re.fullmatch(r"-?[0-9]{1,9}", node.this.name)
        return float(number[0]) * seconds if seconds is not None and number else None
    return None


def refused(found: str, expected: str, hint: str = "") -> InvalidError:
    """The error for a part of a statement."""
    return InvalidError.of("STATEMENT_INVALID", FIELD, found, expected, hint)


_REQUIRED: Mapping[type[exp.Expr], Callable[[Any], None]] = {
    exp.Anonymous: _require_call,
    exp.DataType: _require_type,
    exp.Var: _require_word,
    exp.Literal: _require_literal,
    exp.Placeholder: _require_parameter,
    exp.Table: _require_table,
    exp.Dot: _require_part_of_answer,
    exp.Lateral: _require_lateral_rows,
    exp.In: _require_listed,
}
"""The check of each kind of part that only computes in some of its forms."""
