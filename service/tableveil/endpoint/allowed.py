"""The parts that an analyst's statement may have, in sqlglot's tree of it, and in that of DuckDB's own parser."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint.grammar import (
    ANSWERS,
    COLUMNS,
    FUNCTIONS,
    MADE,
    NODES,
    SERIES,
    TYPES,
    UNNEST,
    AnalystSql,
    is_call,
)
from tableveil.endpoint.information import CATALOG, DEFAULT_SCHEMA, INFORMED
from tableveil.errors import InvalidError, nearest, shortened

if TYPE_CHECKING:
    from tableveil.endpoint.statement import CheckedStatement

FIELD = "statement"
MOST_IN_SERIES = 1_000_000
"""The most numbers or times that one call of a series may give."""

_WORD = re.compile(r"[A-Za-z_]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?")
_PARTS_OF_TABLES = frozenset({"this", "db", "catalog", "alias", "joins", "sample", "laterals", "pivots"})
_DAYS = {"DAY": 1, "WEEK": 7, "MONTH": 28, "QUARTER": 90, "YEAR": 365}
_SECONDS = {
    **{"MICROSECOND": 1e-6, "MILLISECOND": 1e-3, "SECOND": 1.0, "MINUTE": 60.0, "HOUR": 3_600.0},
    **{unit: 86_400.0 * days for unit, days in _DAYS.items()},
}
"""At least so many seconds has each unit."""


def require_allowed(tree: exp.Expr) -> None:
    """Raises `InvalidError` if a part is none of those that only compute."""
    for node in tree.walk():
        if type(node) not in NODES:
            raise refused(f"{node.key.upper()}", "parts of SELECT that only compute")
        if isinstance(node, exp.Anonymous):
            _require_call(node)
        elif (misfit := _misfit(node)) is not None:
            raise refused(*misfit)


def _misfit(node: exp.Expr) -> tuple[str, str] | None:
    """The form of a part that only computes in other forms, and the form that is expected."""
    match node:
        case exp.DataType() if node.this not in TYPES:
            return f"the type {shortened(node.sql(AnalystSql))}", "a type of values"
        case exp.Var() if not _WORD.fullmatch(node.name):
            return shortened(node.name), "a word"
        case exp.Literal() if not node.is_string and not _NUMBER.fullmatch(node.name):
            return shortened(node.name), "a number"
        case exp.Placeholder() if not (node.name in ("", "?") or node.name.isdecimal() or _NAME.fullmatch(node.name)):
            return f"the parameter {shortened(node.name)}", "?, a number such as $1, or a name such as $age"
        case exp.Table() if more := {part for part, value in node.args.items() if value} - _PARTS_OF_TABLES:
            return f"{', '.join(sorted(more)).upper()} of a table", "a table as it is"
        case exp.Dot() if not (is_call(node.this.unnest(), ANSWERS) and isinstance(node.expression, exp.Identifier)):
            return "a part of a value", "parts of what functions of labels answer, such as (tv_mean(age)).low"
        case exp.Lateral() if not isinstance(node.this, (exp.Subquery, exp.Unnest)):
            return "a table function", "tables of releases"
        case exp.In() if isinstance(node.parent, exp.Pivot) and node.args.get("field") is not None:
            return "a name in IN", "values in brackets"
    return None


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


_OWN_NAMES = """
row get_current_timestamp current_date list_slice array_extract array_slice
like_escape not_like_escape ilike_escape not_ilike_escape
"""
"""Functions that DuckDB's parser makes of operators and keywords, beside those that have signs as names."""

_KINDS = """
BETWEEN CASE CAST COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION OPERATOR PARAMETER POSITIONAL_REFERENCE STAR
SUBQUERY TYPE WINDOW
ASCENDING BASE_TABLE DESCENDING DISTINCT_MODIFIER EMPTY EXPRESSION_LIST JOIN LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER
ORDER_DEFAULT ORDER_MODIFIER PIVOT RECURSIVE_CTE_NODE SELECT_NODE SET_OPERATION_NODE TABLE_FUNCTION
"""
"""The kinds of expressions and of parts of a query that a statement may have in DuckDB's tree."""

_KEYWORDS = """
current_catalog current_role current_schema current_user session_user user current_time localtime localtimestamp
"""
"""Functions that are called without parentheses, which the parser takes for columns; none of them is allowed."""

_ALLOWED = frozenset(_KINDS.split())
_OWN = ANSWERS | MADE | SERIES | {UNNEST}
_CALLED = FUNCTIONS | _OWN | frozenset(_OWN_NAMES.split())


def require_same(connection: duckdb.DuckDBPyConnection, checked: CheckedStatement) -> None:
    """Refuses a text in which DuckDB finds other tables or functions than the check allows.

    Raises:
        InvalidError: it does, or it cannot read the text.
    """
    found = set[tuple[str, ...]]()
    waiting: list[tuple[Any, frozenset[str]]] = [(_parsed(connection, checked.text), frozenset())]
    while waiting:
        node, known = waiting.pop()
        if isinstance(node, list):
            waiting += ((part, known) for part in node)
        elif isinstance(node, dict):
            # A common table expression is known to those after it, and to itself if it is recursive.
            known |= {folded(node["cte_name"])} if "cte_name" in node else set()
            for common in node.get("cte_map", {"map": ()})["map"]:
                waiting.append((common["value"], known))
                known |= {folded(common["key"])}
            if node.get("type") == "BASE_TABLE":
                found |= _named(node, known, informed=checked.informed)
            _require_allowed(node)
            waiting += ((part, known) for name, part in node.items() if name != "cte_map")
    if found != {(CATALOG, table.schema, table.name) for table in checked.tables}:
        raise _refused("other tables than those of releases that it names")


def _parsed(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    """DuckDB's tree of the only statement in a text."""
    ((serialized,),) = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    try:
        tree = json.loads(serialized)
    except ValueError:
        # It writes some constants, such as those of type BIT, in a way that is no JSON.
        raise _refused("a constant that cannot be described") from None
    if tree["error"] or len(tree["statements"]) != 1:
        raise _refused(str(tree.get("error_message", "another number of statements")).splitlines()[0][:300])
    return tree["statements"][0]


def _named(table: dict[str, Any], known: frozenset[str], *, informed: bool) -> set[tuple[str, ...]]:
    """The table in full, unless it is a common table expression, or a view that tells of tables."""
    path = tuple(map(folded, table["qualified_name"]["path"]))
    if (len(path) == 1 and path[0] in known) or (informed and path[:2] == INFORMED):
        return set()
    return {(CATALOG, DEFAULT_SCHEMA)[: 3 - len(path)] + path}


def _require_allowed(node: dict[str, Any]) -> None:
    kind = node.get("class") or node.get("type")
    if isinstance(kind, str) and kind not in _ALLOWED:
        raise _refused(kind.replace("_", " "))
    if kind == "PIVOT" and any(pivot["pivot_enum"] for pivot in node["pivots"]):
        raise _refused("PIVOT over an ENUM")
    if kind == "COLUMN_REF" and len(node["column_names"]) == 1 and folded(node["column_names"][0]) in _KEYWORDS.split():
        raise _refused(f"the function {node['column_names'][0]}")
    if kind == "TABLE_FUNCTION" and (name := folded(node["function"]["function_name"])) not in SERIES | {UNNEST}:
        raise _refused(f"the table function {name}")
    if kind in ("FUNCTION", "WINDOW"):
        name = folded(node["function_name"])
        elsewhere = name in _OWN and bool(node["schema"] or node["catalog"])
        if elsewhere or (name not in _CALLED and any(letter.isalnum() for letter in name)):
            raise _refused(f"the function {name}")


def _refused(found: str) -> InvalidError:
    return refused(found, "a SELECT in DuckDB's SQL that only computes")


def refused(found: str, expected: str, hint: str = "") -> InvalidError:
    """The error for a part of a statement."""
    return InvalidError.of("STATEMENT_INVALID", FIELD, found, expected, hint)
