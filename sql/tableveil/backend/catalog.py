"""The database's catalog: what is in the file. Only this module knows where DuckDB keeps it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tableveil.backend.expressions import table
from tableveil.backend.render import render
from tableveil.backend.warehouse import Listed
from tableveil.policy import TableReference

if TYPE_CHECKING:
    from tableveil.backend.session import Session

OWN = "database_name = current_database() AND NOT internal"

BUILT_IN_SCHEMAS = frozenset({"information_schema", "pg_catalog", "system", "temp"})
"""Schemas and databases that DuckDB has for itself."""

# All but sequences: a copy's start where the original's were.
_DEFINITIONS = {
    "schemas": "SELECT schema_name FROM duckdb_schemas() WHERE database_name = ? AND NOT internal",
    "types": "SELECT schema_name, type_name, logical_type, labels, comment FROM duckdb_types() "
    "WHERE database_name = ? AND NOT internal",
    "tables": "SELECT schema_name, table_name, sql, comment FROM duckdb_tables() WHERE database_name = ?",
    "columns": "SELECT schema_name, table_name, column_index, column_name, data_type, column_default, comment "
    "FROM duckdb_columns() WHERE database_name = ? AND NOT internal",
    "constraints": "SELECT schema_name, table_name, constraint_text FROM duckdb_constraints() WHERE database_name = ?",
    "indexes": "SELECT schema_name, index_name, sql, comment FROM duckdb_indexes() WHERE database_name = ?",
    "views": "SELECT schema_name, view_name, sql, comment FROM duckdb_views() WHERE database_name = ? AND NOT internal",
    "macros": "SELECT schema_name, function_name, parameters, macro_definition, comment FROM duckdb_functions() "
    "WHERE database_name = ? AND NOT internal",
}


_CONSISTENT = (
    "coalesce(stability, 'CONSISTENT') = 'CONSISTENT' OR (stability = 'CONSISTENT_WITHIN_QUERY' AND "
    "len(parameter_types) > 0 AND "
    "regexp_matches(concat_ws(' ', return_type, parameter_types::VARCHAR), 'WITH TIME ZONE|TIMESTAMPTZ'))"
)


@dataclass(frozen=True, slots=True)
class Functions:
    """All functions of one name, in lower case: whether each is built in, and consistent; what macros stand for."""

    name: str
    built_in: bool
    consistent: bool
    definitions: list[str]


def schemas(session: Session) -> list[str]:
    """The schemas that a user may have tables in."""
    query = (
        "SELECT schema_name FROM duckdb_schemas() "
        "WHERE database_name = current_database() AND (NOT internal OR schema_name = 'main')"
    )
    return [name for (name,) in session.rows(query)]


def listed(session: Session, schema: str | None = None) -> list[Listed]:
    """The tables and views, temporary ones aside, of the schema or of all; by schema and name."""
    within = f"{OWN} AND schema_name = coalesce($1, schema_name)"
    rows = session.rows(
        "SELECT schema_name, table_name, 'table', estimated_size, estimated_size * column_count FROM duckdb_tables() "
        f"WHERE {within} UNION ALL SELECT schema_name, view_name, 'view', NULL, NULL FROM duckdb_views() "
        f"WHERE {within} ORDER BY ALL",
        [schema],
    )
    return [Listed(*row) for row in rows]


def noted(session: Session, target: exp.Table) -> list[str]:
    """The columns of a table that have comments."""
    query = (
        "SELECT column_name FROM duckdb_columns() WHERE database_name = ? AND schema_name = ? AND table_name = ? "
        "AND comment IS NOT NULL ORDER BY column_index"
    )
    return [name for (name,) in session.rows(query, [target.catalog, target.db, target.name])]


def has_table(session: Session, schema: str, name: str) -> bool:
    """Whether there is a table of that very name in the schema."""
    return any((listed_table.name, listed_table.kind) == (name, "table") for listed_table in listed(session, schema))


def columns(session: Session, of: Collection[Listed]) -> Mapping[tuple[str, str], list[tuple[str, str]]]:
    """The names and types of all columns, by schema and name of tables and views.

    DuckDB looks at every column of the database, however few it is asked for: of one table, see `Session.described`.
    """
    by_table = defaultdict(list)
    for schema, name, *column in session.rows(
        "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE database_name = current_database() "
        "AND (schema_name, table_name) IN (SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[])) ORDER BY column_index",
        [[one.schema for one in of], [one.name for one in of]],
    ):
        by_table[schema, name].append(tuple(column))
    return by_table


def comments(session: Session, schema: str) -> Mapping[str, Mapping[str, str]]:
    """The comments in a schema, by the names of table or view and column; that on the table itself has no column."""
    by_table: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, column, comment in session.rows(
        "SELECT table_name, '' AS column_name, comment FROM duckdb_tables() "
        f"WHERE {OWN} AND schema_name = $1 AND comment IS NOT NULL "
        f"UNION ALL SELECT view_name, '', comment FROM duckdb_views() "
        f"WHERE {OWN} AND schema_name = $1 AND comment IS NOT NULL "
        "UNION ALL SELECT table_name, column_name, comment FROM duckdb_columns() "
        f"WHERE {OWN} AND schema_name = $1 AND comment IS NOT NULL",
        [schema],
    ):
        by_table[name][column] = comment
    return by_table


def views(session: Session) -> list[tuple[str, str, str]]:
    """Schema, name and statement of all views but those of the ledger, which read nothing else."""
    own = f"{OWN} AND schema_name <> 'tableveil'"
    return session.rows(f"SELECT schema_name, view_name, sql FROM duckdb_views() WHERE {own} ORDER BY ALL")


def table_definition(session: Session, reference: TableReference) -> str:
    """The statement that makes the table; a temporary one is in the database `temp`."""
    definition: str = session.value(
        "SELECT sql FROM duckdb_tables() WHERE database_name = ? AND schema_name = ? AND table_name = ?",
        [reference.catalog, reference.schema, reference.table],
    )
    return definition


def types(session: Session) -> list[tuple[str, str]]:
    """Schema and name of the types that users made."""
    return session.rows(f"SELECT schema_name, type_name FROM duckdb_types() WHERE {OWN}")


def functions(session: Session, names: Collection[str]) -> list[Functions]:
    """The functions of these names, which are in lower case; macros in `main` are seen by all.

    From DuckDB 2.0.1 on, functions of times with a zone are consistent within a query only: they depend on the time
    zone, which the server sets and locks. Functions that depend on the time of the query take no argument.
    """
    owned = session.visibility.owned
    hidden = [] if owned.everything else [n for n in schemas(session) if n != "main" and not owned.has_schema(n)]
    rows = session.rows(
        f"SELECT lower(function_name), bool_and(internal), bool_and({_CONSISTENT}), "
        "coalesce(list(macro_definition) FILTER (WHERE function_type = 'macro'), []) FROM duckdb_functions() "
        "WHERE list_contains(?::VARCHAR[], lower(function_name)) "
        "AND (internal OR NOT list_contains(?::VARCHAR[], schema_name)) GROUP BY ALL ORDER BY ALL",
        [list(names), hidden],
    )
    return [Functions(*row) for row in rows]


# --- the file -------------------------------------------------------------------------------------------------------


def storage_version(session: Session) -> str | None:
    """The version of DuckDB's format that the file has, if it is known."""
    version: str | None = session.value(
        "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = current_database()"
    )
    return version


def column_bytes(session: Session, reference: TableReference) -> dict[str, int]:
    """By column of a table the bytes of the blocks that hold its values and no others; none of a view.

    Rows that are still in the log have none.
    """
    tables = [
        listed_table.name.casefold()
        for listed_table in listed(session, reference.schema)
        if listed_table.kind == "table"
    ]
    if reference.table.casefold() not in tables:
        return {}
    return dict(
        session.rows(
            "SELECT name, count(*) * (SELECT block_size FROM pragma_database_size() "
            "WHERE database_name = current_database()) FROM (SELECT min(column_name) AS name "
            "FROM pragma_storage_info(?) WHERE block_id >= 0 GROUP BY block_id "
            "HAVING min(column_name) = max(column_name)) GROUP BY name",
            [render(table(reference.table, reference.schema))],
        )
    )


def used_bytes(session: Session) -> int:
    """Bytes of the file's blocks in use: what a copy takes at most, nearly."""
    return _bytes(session, "used_blocks")


def unused_bytes(session: Session) -> int:
    """Bytes of the file's blocks that hold nothing any more: what is written takes them before the file grows."""
    return _bytes(session, "free_blocks")


def _bytes(session: Session, blocks: str) -> int:
    size: int = session.value(
        f"SELECT {blocks} * block_size FROM pragma_database_size() WHERE database_name = current_database()"
    )
    return size


# --- a database and its copy ----------------------------------------------------------------------------------------


def definitions(session: Session, database: str) -> dict[str, list[tuple[Any, ...]]]:
    """The definitions of everything in an attached database but sequences, by kind."""
    return {name: session.rows(f"{query} ORDER BY ALL", [database]) for name, query in _DEFINITIONS.items()}


def tables(session: Session, database: str) -> list[tuple[str, str]]:
    """Schema and name of all tables of an attached database."""
    return session.rows("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ?", [database])


def next_values(session: Session, database: str) -> dict[tuple[str, str], int]:
    """The least value that the next call may give, of each sequence that only counts upwards."""
    rows = session.rows(
        "SELECT schema_name, sequence_name, CASE WHEN last_value IS NULL OR last_value < start_value THEN start_value "
        "ELSE last_value + increment_by END FROM duckdb_sequences() "
        "WHERE database_name = ? AND increment_by > 0 AND NOT cycle",
        [database],
    )
    return {(schema, name): value for schema, name, value in rows}
