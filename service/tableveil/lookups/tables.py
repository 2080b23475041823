"""Tables of the database, as the service offers them: what is there, and what a table holds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tableveil.backend import Database
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError
from tableveil.policy import TableReference
from tableveil.source import find_table
from tableveil.source.description import TableDescription, describe
from tableveil.source.missing import invalid
from tableveil.source.tables import STATE_SCHEMA, without_values


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table or view; `rows` is an estimate, None for views. Columns are (name, type)."""

    schema: str
    name: str
    is_view: bool
    rows: int | None
    columns: tuple[tuple[str, str], ...]


class Tables:
    """Lists and describes tables. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, after: tuple[str, str], size: int) -> list[ListedTable]:
        """The next `size` tables and views after (schema, name), by schema and name; start with ("", "")."""
        with self._database.session() as session, session.transaction():
            found = session.rows(
                "SELECT * FROM (SELECT schema_name, table_name, false, estimated_size FROM duckdb_tables() "
                "WHERE database_name = current_database() AND NOT internal UNION ALL "
                "SELECT schema_name, view_name, true, NULL FROM duckdb_views() "
                "WHERE database_name = current_database() AND NOT internal) AS found(s, n, is_view, size) "
                "WHERE lower(s) <> ? AND (s, n) > (?, ?) ORDER BY s, n LIMIT ?",
                [STATE_SCHEMA, *after, size],
            )
            columns = defaultdict(list)
            # Of all tables at once: whatever is asked for, every column of the database is looked at.
            for schema, name, column, type_ in session.rows(
                "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
                "WHERE database_name = current_database() "
                "AND (schema_name, table_name) IN (SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[])) "
                "ORDER BY column_index",
                [[schema for schema, *_ in found], [name for _, name, *_ in found]],
            ):
                columns[schema, name].append((column, without_values(type_)))
            return [
                ListedTable(schema, name, is_view, rows, tuple(columns[schema, name]))
                for schema, name, is_view, rows in found
            ]

    def describe(self, wanted: TableReference, most_values: int, control: Control) -> TableDescription:
        """What a table holds, with up to `most_values` values of each column.

        Raises:
            NotFoundError: there is no such table.
            CancelledError: `control` says to stop.
        """
        with self._database.session() as session:
            session.control = control
            reference, faults = find_table(session, wanted, "table")
            if reference is None:
                raise invalid("TABLE_INVALID", "the table cannot be described", faults)
            try:
                with session.transaction():
                    return describe(session, reference, most_values)
            except Stopped:
                raise CancelledError("CANCELLED", "nobody waits for the description any more") from None
