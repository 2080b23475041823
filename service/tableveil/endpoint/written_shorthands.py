"""Statements that analysts type in place of a SELECT, as the SELECT that they stand for."""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token

INFORMATION = "information_schema"
"""The schema of the views by which SQL tells of tables; here, of those that the caller may read."""

INFORMATION_VIEWS = {
    "schemata": ("catalog_name", "schema_name"),
    "tables": ("table_catalog", "table_schema", "table_name", "table_type", "table_comment"),
    "columns": (
        *("table_catalog", "table_schema", "table_name", "column_name"),
        *("ordinal_position", "is_nullable", "data_type", "column_comment"),
    ),
}
"""The views, by their names, with their columns."""

_SHOWN: dict[tuple[str, ...], str] = {
    ("TABLES",): f"SELECT table_name AS name FROM {INFORMATION}.tables ORDER BY ALL",
    ("ALL", "TABLES"): "SELECT table_catalog AS database, table_schema AS schema, table_name AS name, table_comment "
    f"AS comment FROM {INFORMATION}.tables ORDER BY ALL",
    ("SCHEMAS",): f"SELECT schema_name AS name FROM {INFORMATION}.schemata ORDER BY ALL",
}


def shown(tokens: list[Token]) -> str | None:
    """The SELECT for SHOW TABLES, SHOW ALL TABLES or SHOW SCHEMAS; None for any other statement."""
    words = tuple(token.text.upper() for token in tokens)
    return _SHOWN.get(words[1:]) if words[:1] == ("SHOW",) else None


def reads_views(text: str) -> bool:
    """Whether a statement may read the views: a name is written down where it is read."""
    return re.search(rf"{INFORMATION}|\bSHOW\b", text, re.IGNORECASE | re.ASCII) is not None
