"""The second check of a statement: by the tree that DuckDB itself makes of its text."""

import json
from typing import Any

import duckdb

from tableveil.backend import folded
from tableveil.endpoint.grammar import ANSWERS, FILTERED, FUNCTIONS, MADE, SERIES, UNNEST, refused
from tableveil.endpoint.information import CATALOG, DEFAULT_SCHEMA, INFORMED
from tableveil.endpoint.statement import CheckedStatement
from tableveil.errors import InvalidError

_OWN_NAMES = """
if row get_current_timestamp current_date list_slice array_extract array_slice
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

_OWN_VIEWS = "SELECT view_name FROM duckdb_views() WHERE internal AND schema_name <> 'information_schema'"
"""DuckDB finds them by their names alone, where these are no longer those of common table expressions."""

_ALLOWED = frozenset(_KINDS.split())
_OWN = ANSWERS | MADE | SERIES | {UNNEST} | {macro.name for macro in FILTERED.values()}
_CALLED = FUNCTIONS | _OWN | frozenset(_OWN_NAMES.split())


def require_same(connection: duckdb.DuckDBPyConnection, checked: CheckedStatement) -> None:
    """Refuses a text in which DuckDB finds other tables or functions than the check allows.

    Raises:
        InvalidError: it does, or it cannot read the text.
    """
    found, common = set[tuple[str, ...]](), set[str]()
    waiting: list[tuple[Any, frozenset[str]]] = [(_parsed(connection, checked.text), frozenset())]
    while waiting:
        node, known = waiting.pop()
        if isinstance(node, list):
            waiting += ((part, known) for part in node)
        elif isinstance(node, dict):
            # A common table expression is known to those after it, and if it is recursive, to its own second part.
            for one in node.get("cte_map", {"map": ()})["map"]:
                waiting.append((one["value"], known))
                known |= {folded(one["key"])}
            common |= known
            if node.get("type") == "BASE_TABLE":
                path = tuple(map(folded, node["qualified_name"]["path"]))
                if not (len(path) == 1 and path[0] in known) and not (checked.informed and path[:2] == INFORMED):
                    found.add((CATALOG, DEFAULT_SCHEMA)[: 3 - len(path)] + path)
            _require_allowed(node)
            own = {folded(node["cte_name"])} if "cte_name" in node else set()
            others = ((name, part) for name, part in node.items() if name != "cte_map")
            waiting += ((part, known | own if name == "right" else known) for name, part in others)
    if common and common.intersection(name for (name,) in connection.execute(_OWN_VIEWS).fetchall()):
        raise _refused("a common table expression that has the name of a view of DuckDB")
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
