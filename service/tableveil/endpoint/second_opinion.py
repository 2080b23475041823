"""A second opinion on a checked statement: that of DuckDB's own parser, on the text that DuckDB is about to run."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from tableveil.backend import folded
from tableveil.endpoint.grammar import ANSWERS, FUNCTIONS, MADE, SERIES, UNNEST
from tableveil.endpoint.statement import CATALOG, DEFAULT_SCHEMA, INFORMED, CheckedStatement
from tableveil.errors import InvalidError

_OWN_NAMES = frozenset(
    {
        *("row", "get_current_timestamp", "current_date", "list_slice", "array_extract", "array_slice"),
        *("like_escape", "not_like_escape", "ilike_escape", "not_ilike_escape"),
    }
)
"""Functions that DuckDB's parser makes of operators and keywords, beside those that have signs as names."""


_ALLOWED = frozenset(
    {
        *("BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR"),
        *("PARAMETER", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE", "WINDOW"),
        *("ASCENDING", "BASE_TABLE", "DESCENDING", "DISTINCT_MODIFIER", "EMPTY", "EXPRESSION_LIST", "JOIN"),
        *("LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_DEFAULT", "ORDER_MODIFIER", "PIVOT", "RECURSIVE_CTE_NODE"),
        *("SELECT_NODE", "SET_OPERATION_NODE", "TABLE_FUNCTION"),
    }
)
"""The kinds of expressions and of parts of a query that a statement may have in DuckDB's tree."""

_ROWS = SERIES | {UNNEST}

_KEYWORDS = frozenset(
    {
        *("current_catalog", "current_role", "current_schema", "current_user", "session_user", "user"),
        *("current_time", "localtime", "localtimestamp"),
    }
)
"""Functions that are called without parentheses, which the parser takes for columns; none of them is allowed."""


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


def _parsed(connection: duckdb.DuckDBPyConnection, text: str) -> dict[str, Any]:
    """DuckDB's tree of the only statement in a text."""
    ((serialized,),) = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    try:
        tree = json.loads(serialized)
    except ValueError:
        # It writes some constants, such as those of type BIT, in a way that is no JSON.
        raise _refused("a constant that cannot be described") from None
    if tree["error"] or len(tree["statements"]) != 1:
        raise _refused(str(tree.get("error_message", "another number of statements")).splitlines()[0][:300])
    statement: dict[str, Any] = tree["statements"][0]
    return statement


def _named(table: dict[str, Any], known: frozenset[str], *, informed: bool) -> set[tuple[str, ...]]:
    """The table in full, unless it is a common table expression, or a view that tells of tables."""
    path = tuple(map(folded, table["qualified_name"]["path"]))
    if (len(path) == 1 and path[0] in known) or (informed and path[:2] == INFORMED):
        return set()
    return {((CATALOG, DEFAULT_SCHEMA)[: 3 - len(path)] + path)}


def _require_allowed(node: dict[str, Any]) -> None:
    kind = node.get("class") or node.get("type")
    if isinstance(kind, str) and kind not in _ALLOWED:
        raise _refused(kind.replace("_", " "))
    if kind == "PIVOT":
        if any(pivot["pivot_enum"] for pivot in node["pivots"]):
            raise _refused("PIVOT over an ENUM")
    elif kind == "COLUMN_REF":
        names = node["column_names"]
        if len(names) == 1 and folded(names[0]) in _KEYWORDS:
            raise _refused(f"the function {names[0]}")
    elif kind == "TABLE_FUNCTION":
        name = folded(node["function"]["function_name"])
        if name not in _ROWS:
            raise _refused(f"the table function {name}")
    elif kind in ("FUNCTION", "WINDOW"):
        name = folded(node["function_name"])
        allowed = FUNCTIONS | ANSWERS | MADE | _ROWS | _OWN_NAMES
        elsewhere = name in ANSWERS | MADE | _ROWS and bool(node["schema"] or node["catalog"])
        if elsewhere or (name not in allowed and any(letter.isalnum() for letter in name)):
            raise _refused(f"the function {name}")


def _refused(found: str) -> InvalidError:
    return InvalidError.of("STATEMENT_INVALID", "statement", found, "a SELECT in DuckDB's SQL that only computes")
