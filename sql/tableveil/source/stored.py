"""How much room the columns of a table take in the database file, and how much is free in it."""

from __future__ import annotations

from tableveil.backend import Session, render, table
from tableveil.policy import TableReference


def stored_bytes(session: Session, reference: TableReference) -> dict[str, int]:
    """By column of a table the bytes of the blocks that hold its values and no others; none of a view.

    Rows that are still in the log have none.
    """
    tables = session.rows(
        "SELECT 1 FROM duckdb_tables() WHERE database_name = ? AND schema_name = ? AND lower(table_name) = lower(?)",
        [reference.catalog, reference.schema, reference.table],
    )
    if not tables:
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


def unused_bytes(session: Session) -> int:
    """Bytes of the file's blocks that hold nothing any more: what is written takes them before the file grows."""
    size: int = session.value(
        "SELECT free_blocks * block_size FROM pragma_database_size() WHERE database_name = current_database()"
    )
    return size
