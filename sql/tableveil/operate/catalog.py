"""What a database consists of, so that a copy can be compared with its original."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tableveil.backend import Session, table

# All but sequences: a copy's start where the original's were.
_PARTS = {
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


def parts(session: Session, database: str) -> dict[str, list[tuple[Any, ...]]]:
    """The definitions of everything in a database but sequences, by kind."""
    return {name: session.rows(f"{query} ORDER BY ALL", [database]) for name, query in _PARTS.items()}


def row_counts(session: Session, database: str) -> dict[tuple[str, str], int]:
    """How many rows each table has, by schema and name."""
    names = session.rows("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ?", [database])
    return {(schema, name): _rows(session, database, schema, name) for schema, name in names}


def next_values(session: Session, database: str) -> dict[tuple[str, str], int]:
    """The least value that the next call may give, of each sequence that only counts upwards."""
    rows = session.rows(
        "SELECT schema_name, sequence_name, CASE WHEN last_value IS NULL OR last_value < start_value THEN start_value "
        "ELSE last_value + increment_by END FROM duckdb_sequences() "
        "WHERE database_name = ? AND increment_by > 0 AND NOT cycle",
        [database],
    )
    return {(schema, name): value for schema, name, value in rows}


def _rows(session: Session, database: str, schema: str, name: str) -> int:
    counted = exp.select(exp.Count(this=exp.Star())).from_(table(name, schema, database))
    count: int = session.value(counted)
    return count
