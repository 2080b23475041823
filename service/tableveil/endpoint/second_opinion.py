"""A second opinion on a checked statement: that of DuckDB's own parser, on the text that DuckDB is about to run."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from tableveil.backend import folded
from tableveil.endpoint.grammar import FUNCTIONS
from tableveil.endpoint.statement import Checked, alias_of
from tableveil.errors import InvalidError

_OWN_NAMES = frozenset(
    {
        *("row", "get_current_timestamp", "current_date", "list_slice", "array_extract", "array_slice"),
        *("like_escape", "not_like_escape", "ilike_escape", "not_ilike_escape"),
    }
)
"""Functions that DuckDB's parser makes of operators and keywords, beside those that have signs as names."""


def require_same(connection: duckdb.DuckDBPyConnection, checked: Checked) -> None:
    """Refuses a text in which DuckDB finds other tables or functions than the check allows.

    Raises:
        InvalidError: it does, or it cannot read the text.
    """
    (found,) = connection.execute("SELECT json_serialize_sql(?)", [checked.text]).fetchall()[0]
    tree = json.loads(found)
    if tree["error"] or len(tree["statements"]) != 1:
        raise _refused(str(tree.get("error_message", "another number of statements")).splitlines()[0][:300])
    releases = {alias_of(release) for release in checked.releases}
    waiting: list[Any] = [tree["statements"]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            _look(node, releases)
            waiting += node.values()


def _look(node: dict[str, Any], releases: set[str]) -> None:
    kind = node.get("class") or node.get("type")
    if kind == "BASE_TABLE":
        path = node["qualified_name"]["path"]
        is_common = len(path) == 1 and path[0].startswith("common_")
        if not is_common and (len(path) != 3 or path[0] not in releases):
            raise _refused("a table of no release")
    elif kind in ("TABLE_FUNCTION", "SHOW_REF", "PIVOT", "COLUMN_DATA"):
        raise _refused("rows of no table")
    elif kind in ("FUNCTION", "WINDOW"):
        name = folded(node["function_name"])
        if name not in FUNCTIONS and name not in _OWN_NAMES and any(letter.isalnum() for letter in name):
            raise _refused(f"the function {name}")


def _refused(found: str) -> InvalidError:
    return InvalidError.of("STATEMENT_INVALID", "statement", found, "a SELECT in DuckDB's SQL that only computes")
