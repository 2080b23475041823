"""Descriptions of tables and columns: from a published file, and as the views of `information_schema`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb
import pyarrow as pa
from sqlglot.tokenizer_core import Token

from tableveil.backend import folded

CATALOG = "releases"
"""The name by which clients know the one catalog there is."""

DEFAULT_SCHEMA = "main"
"""The schema of names that say none."""

INFORMED = ("memory", "information")
"""The place of the views that tell of tables, in the database of the process of a query."""

INFORMATION = "information_schema"
"""The schema of the views by which SQL tells of tables; here, of those that the caller may read."""

INFORMATION_VIEWS = {
    "schemata": "SELECT DISTINCT table_catalog AS catalog_name, table_schema AS schema_name ORDER BY ALL",
    "tables": "SELECT DISTINCT COLUMNS('^table_') ORDER BY ALL",
    "columns": "SELECT * EXCLUDE (table_type, table_comment)",
}
"""The views, as queries of all columns."""

_SHOWN: dict[tuple[str, ...], str] = {
    ("TABLES",): f"SELECT table_name AS name FROM {INFORMATION}.tables ORDER BY ALL",
    ("ALL", "TABLES"): "SELECT table_catalog AS database, table_schema AS schema, table_name AS name, table_comment "
    f"AS comment FROM {INFORMATION}.tables ORDER BY ALL",
    ("SCHEMAS",): f"SELECT schema_name AS name FROM {INFORMATION}.schemata ORDER BY ALL",
}


@dataclass(frozen=True)
class PublishedTable:
    """A table of a release, with its columns in Arrow's types; their metadata tell DuckDB's types, and the comments."""

    release: int
    schema: str
    name: str
    columns: pa.Schema
    comment: str = ""

    @cached_property
    def folded_name(self) -> tuple[str, str]:
        """The schema and the name by which statements find it."""
        return folded(self.schema), folded(self.name)

    @cached_property
    def described(self) -> bytes:
        """The columns, each with what Flight SQL tells of columns, in Arrow's format."""
        place = {
            **{"ARROW:FLIGHT:SQL:CATALOG_NAME": CATALOG, "ARROW:FLIGHT:SQL:DB_SCHEMA_NAME": self.schema},
            **{"ARROW:FLIGHT:SQL:TABLE_NAME": self.name, "ARROW:FLIGHT:SQL:IS_READ_ONLY": "1"},
            "ARROW:FLIGHT:SQL:IS_SEARCHABLE": "1",
        }
        columns = [column.with_metadata({**(column.metadata or {}), **place}) for column in self.columns]
        return bytes(pa.schema(columns, {REMARKS: self.comment} if self.comment else None).serialize())


def shown(tokens: list[Token]) -> str | None:
    """The SELECT for SHOW TABLES, SHOW ALL TABLES or SHOW SCHEMAS; None for any other statement."""
    words = tuple(token.text.upper() for token in tokens)
    return _SHOWN.get(words[1:]) if words[:1] == ("SHOW",) else None


TYPE_NAME, REMARKS = b"ARROW:FLIGHT:SQL:TYPE_NAME", b"ARROW:FLIGHT:SQL:REMARKS"
"""The keys by which Flight SQL tells the type and the comment of a column."""

_TEXT = pa.string()
_COLUMNS = pa.schema(
    {
        **{"table_catalog": _TEXT, "table_schema": _TEXT, "table_name": _TEXT, "column_name": _TEXT},
        **{"ordinal_position": pa.int32(), "is_nullable": _TEXT, "data_type": _TEXT, "column_comment": _TEXT},
        **{"table_type": _TEXT, "table_comment": _TEXT},
    }
)


def described(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str, str, dict[str, dict[bytes, str]]]]:
    """The schema, the name and the comment of each table of the database `file`, with the metadata of its columns."""
    tables = (
        "SELECT * FROM duckdb_tables() UNION ALL BY NAME SELECT * RENAME (view_name AS table_name) FROM duckdb_views()"
    )
    rows = connection.execute(
        "SELECT schema_name, table_name, coalesce(t.comment, ''), list((column_name, data_type, c.comment)) "
        f"FROM duckdb_columns() AS c JOIN ({tables}) AS t USING (database_name, schema_name, table_name) "
        "WHERE database_name = 'file' GROUP BY ALL ORDER BY ALL"
    )
    for schema, table, comment, columns in rows.fetchall():
        yield (
            schema,
            table,
            comment,
            {name: {TYPE_NAME: type_, **({REMARKS: of} if of else {})} for name, type_, of in columns},
        )


def write_information(tables: Sequence[PublishedTable], file: Path) -> None:
    """Writes the columns of these tables into a file, from which the processes of queries map them into memory."""
    columns = [
        (
            *(CATALOG, table.schema, table.name, field.name, place, "YES" if field.nullable else "NO"),
            *(told(field, TYPE_NAME) or str(field.type), told(field, REMARKS), "BASE TABLE", table.comment or None),
        )
        for table in tables
        for place, field in enumerate(table.columns, 1)
    ]
    arrays = [pa.array([row[at] for row in columns], of.type) for at, of in enumerate(_COLUMNS)]
    file.touch(0o600)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, _COLUMNS) as stream:
        stream.write_table(pa.table(arrays, schema=_COLUMNS))


def told(field: pa.Field, key: bytes) -> str | None:
    """The value of a key in the metadata of a column."""
    value = (field.metadata or {}).get(key)
    return value.decode() if value is not None else None


def create_views(connection: duckdb.DuckDBPyConnection, file: str) -> None:
    """Makes the views in the database of the process, of the file with the columns."""
    place = ".".join(INFORMED)
    connection.execute(f"CREATE SCHEMA {place}")
    # Names of tables are looked for among registered ones first: no table has the name of the file.
    connection.register(columns := Path(file).stem, pa.ipc.open_file(pa.memory_map(file)).read_all())
    for name, select in INFORMATION_VIEWS.items():
        connection.execute(f'CREATE VIEW {place}.{name} AS FROM "{columns}" {select}')
