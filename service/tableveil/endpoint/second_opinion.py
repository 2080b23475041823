"""A second opinion on a checked statement: that of DuckDB's own parser, on the text that DuckDB is about to run."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from tableveil.backend import folded
from tableveil.endpoint.grammar import ANSWERS, FUNCTIONS, MADE, SERIES, UNNEST
from tableveil.endpoint.statement import INFORMED, CheckedStatement, alias_of
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

_PLACES = frozenset({"query_location", "query_location_length"})
_NAMES_OF_COMMON = frozenset({"cte_name", "key"})
_NAMES_OF_TABLE = frozenset({"qualified_name", "catalog_name", "schema_name", "table_name", "alias"})


def require_same(connection: duckdb.DuckDBPyConnection, checked: CheckedStatement) -> None:
    """Refuses a text in which DuckDB finds other tables or functions than the check allows.

    Only names of tables may differ from those in the text that was written: the rest is what DuckDB reads in it.

    Raises:
        InvalidError: it does, or it cannot read the text.
    """
    statement = _parsed(connection, checked.text)
    releases = {alias_of(release) for release in checked.releases}
    waiting: list[Any] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            _require_allowed(node, releases, informed=checked.informed)
            waiting += node.values()
    if not _agree(_parsed(connection, checked.written), statement):
        raise _refused("names that can be read in two ways")


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


def _agree(written: dict[str, Any], statement: dict[str, Any]) -> bool:
    """Whether two trees differ only in names of tables, in bounds after labels, and in places in the text."""
    waiting: list[tuple[Any, Any]] = [(written, statement)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
            if one.get("type") == "BASE_TABLE":
                if not _is_renamed(one, other):
                    return False
                waiting += [(one[key], other[key]) for key in one.keys() - _PLACES - _NAMES_OF_TABLE]
            elif one.get("type") == "COLUMN_REF":
                names, others = one["column_names"], other["column_names"]
                # The first of four names is that of a catalog.
                if len(names) != len(others) or names[-3:] != others[-3:]:
                    return False
            else:
                waiting += [(one[key], other[key]) for key in one.keys() - _PLACES - _NAMES_OF_COMMON - {"arguments"}]
                if "arguments" in one:
                    waiting.append((one["arguments"], _as_written(other, len(one["arguments"]))))
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            waiting += zip(one, other, strict=True)
        elif one != other:
            return False
    return True


def _as_written(call: dict[str, Any], arguments: int) -> Any:
    """The arguments of a call without the bounds that the check has put after a label."""
    read_arguments = call["arguments"]
    added = read_arguments[1:3]
    is_completed = (
        folded(call["function_name"]) in ANSWERS
        and len(read_arguments) == arguments + len(added) == arguments + 2
        and all(not one["name"] and one["expression"]["type"] == "COLUMN_REF" for one in added)
    )
    return [read_arguments[0], *read_arguments[3:]] if is_completed else read_arguments


def _is_renamed(written: dict[str, Any], table: dict[str, Any]) -> bool:
    """Whether it is the table that was written, under its new name."""
    path, name = table["qualified_name"]["path"], written["qualified_name"]["path"][-1]
    if len(path) == 1:
        return bool(table["alias"] == (written["alias"] or name)) or not (table["alias"] or written["alias"])
    return bool(path[-1] == name and table["alias"] == written["alias"])


def _require_allowed(node: dict[str, Any], releases: set[str], *, informed: bool) -> None:
    kind = node.get("class") or node.get("type")
    if isinstance(kind, str) and kind not in _ALLOWED:
        raise _refused(kind.replace("_", " "))
    if kind == "BASE_TABLE":
        path = node["qualified_name"]["path"]
        is_common = len(path) == 1 and path[0].startswith("common_")
        informs = informed and tuple(path[:2]) == INFORMED
        if not is_common and not informs and (len(path) != 3 or path[0] not in releases):
            raise _refused("a table of no release")
    elif kind == "PIVOT":
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
