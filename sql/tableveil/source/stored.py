"""How much room columns of a table take in the database file, and how much is free in it."""

from __future__ import annotations

from collections.abc import Sequence

from tableveil.backend import Session, render, table
from tableveil.policy import TableReference


def stored_bytes(session: Session, reference: TableReference, columns: Sequence[str]) -> int:
    """Bytes of the blocks that hold values of these columns and of no others; 0 for a view.

    Rows that are still in the log have none.
    """
    tables = session.rows(
        "SELECT 1 FROM duckdb_tables() WHERE database_name = ? AND schema_name = ? AND lower(table_name) = lower(?)",
        [reference.catalog, reference.schema, reference.table],
    )
    if not tables:
        return 0
    size: int = session.value(
        "SELECT count(*) * (SELECT block_size FROM pragma_database_size() WHERE database_name = current_database()) "
        "FROM (SELECT block_id FROM pragma_storage_info(?) WHERE block_id >= 0 "
        "GROUP BY block_id HAVING bool_and(list_contains(?::VARCHAR[], lower(column_name))))",
        [render(table(reference.table, reference.schema)), [name.lower() for name in columns]],
    )
    return size


def unused_bytes(session: Session) -> int:
    """Bytes of the file's blocks that hold nothing any more: what is written takes them before the file grows."""
    size: int = session.value(
        "SELECT free_blocks * block_size FROM pragma_database_size() WHERE database_name = current_database()"
    )
    return size
