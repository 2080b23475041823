"""Descriptions of tables and columns: from a published file, and as the views of `information_schema`."""

from __future__ import annotations

import re
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from sqlglot.tokenizer_core import Token

if TYPE_CHECKING:
    from tableveil.endpoint.published import PublishedTable

CATALOG = "releases"
"""The name by which clients know the one catalog there is."""

DEFAULT_SCHEMA = "main"
"""The schema of names that say none."""

INFORMED = ("memory", "information")
"""The place of the views that tell of tables, in the database of the process of a query."""

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


TYPE_NAME, REMARKS = b"ARROW:FLIGHT:SQL:TYPE_NAME", b"ARROW:FLIGHT:SQL:REMARKS"
"""The keys by which Flight SQL tells the type and the comment of a column."""

_PLACED = "ordinal_position"


def described(
    connection: duckdb.DuckDBPyConnection,
) -> tuple[dict[tuple[str, str], str], Mapping[tuple[str, str], Mapping[str, Mapping[bytes, str]]]]:
    """The comments of the tables of the database `file`, by schema and name; the metadata of their columns."""
    tables = "SELECT schema_name, table_name, coalesce(comment, '') FROM duckdb_tables() WHERE database_name = 'file'"
    views = "SELECT schema_name, view_name, coalesce(comment, '') FROM duckdb_views() WHERE database_name = 'file'"
    comments = {
        (schema, name): comment
        for schema, name, comment in connection.execute(f"{tables} UNION ALL {views}").fetchall()
    }
    columns: dict[tuple[str, str], dict[str, Mapping[bytes, str]]] = defaultdict(dict)
    rows = connection.execute(
        "SELECT schema_name, table_name, column_name, data_type, coalesce(comment, '') FROM duckdb_columns() "
        "WHERE database_name = 'file'"
    ).fetchall()
    for schema, table, column, type_, comment in rows:
        columns[schema, table][column] = {TYPE_NAME: type_, **({REMARKS: comment} if comment else {})}
    return comments, columns


def information(tables: Sequence[PublishedTable]) -> dict[str, pa.Table]:
    """The views, of these tables."""
    columns = [
        (
            *(CATALOG, table.schema, table.name, field.name, place, "YES" if field.nullable else "NO"),
            *(told(field, TYPE_NAME) or str(field.type), told(field, REMARKS)),
        )
        for table in tables
        for place, field in enumerate(table.columns, 1)
    ]
    rows: dict[str, list[tuple[Any, ...]]] = {
        "schemata": [(CATALOG, schema) for schema in sorted({table.schema for table in tables})],
        "tables": [(CATALOG, table.schema, table.name, "BASE TABLE", table.comment or None) for table in tables],
        "columns": columns,
    }
    return {view: _table(names, rows[view]) for view, names in INFORMATION_VIEWS.items()}


def _table(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    types = [pa.int32() if name == _PLACED else pa.string() for name in names]
    arrays = [pa.array([row[at] for row in rows], type_) for at, type_ in enumerate(types)]
    return pa.table(arrays, names=list(names))


def told(field: pa.Field, key: bytes) -> str | None:
    """The value of a key in the metadata of a column."""
    value = (field.metadata or {}).get(key)
    return value.decode() if value is not None else None


def write_views(directory: Path, views: Mapping[str, pa.Table]) -> dict[str, Path]:
    """Writes the views into files of their own, from which the processes of queries map them into memory."""
    files = {name: directory / f"{uuid.uuid4().hex}-{name}.arrow" for name in views}
    for name, view in views.items():
        files[name].touch(0o600)
        with pa.OSFile(str(files[name]), "wb") as sink, pa.ipc.new_file(sink, view.schema) as stream:
            stream.write_table(view)
    return files


def create_views(connection: duckdb.DuckDBPyConnection, files: Mapping[str, str]) -> None:
    """Makes the views in the database of the process, of their files."""
    place = ".".join(INFORMED)
    connection.execute(f"CREATE SCHEMA {place}")
    for name, file in files.items():
        connection.register(f"written_{name}", pa.ipc.open_file(pa.memory_map(file)).read_all())
        connection.execute(f"CREATE VIEW {place}.{name} AS FROM written_{name}")
