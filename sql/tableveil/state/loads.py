"""The store of loads: what was loaded into which table. Each is inserted by the transaction that loads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tableveil.backend import Session


class LoadMode(StrEnum):
    """What a load makes of the table."""

    CREATE = "CREATE"
    APPEND = "APPEND"


@dataclass(frozen=True, slots=True)
class Load:
    """A load that was done.

    `request_digest` tells apart what was asked for by one `request_id`. `file` is empty if the rows came from a client.
    `columns` are the table's, as (name, type), after the load.
    """

    number: int
    request_id: str
    request_digest: str
    schema: str
    table: str
    mode: LoadMode
    file: str
    created_at: datetime
    rows: int
    rejected_lines: int
    columns: tuple[tuple[str, str], ...]
    seconds: float


_SELECT = (
    "SELECT number, coalesce(request_id, ''), request_digest, table_schema, table_name, mode, file, created_at, "
    "row_count, rejected_lines, column_names, column_types, seconds FROM tableveil.loads"
)


def next_number(session: Session) -> int:
    """A number no load has."""
    number: int = session.value("SELECT nextval('tableveil.load_numbers')")
    return number


def insert(session: Session, load: Load) -> None:
    """Stores a load; call it in the transaction that loads."""
    session.execute(
        "INSERT INTO tableveil.loads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            load.number,
            load.request_id or None,
            load.request_digest,
            load.schema,
            load.table,
            load.mode.value,
            load.file,
            load.created_at,
            load.rows,
            load.rejected_lines,
            [name for name, _ in load.columns],
            [type_ for _, type_ in load.columns],
            load.seconds,
        ],
    )


def find(session: Session, number: int) -> Load | None:
    """The load of that number."""
    rows = session.rows(f"{_SELECT} WHERE number = ?", [number])
    return _load(*rows[0]) if rows else None


def find_request(session: Session, request_id: str) -> Load | None:
    """The load that was asked for by that request id."""
    rows = session.rows(f"{_SELECT} WHERE request_id = ?", [request_id])
    return _load(*rows[0]) if rows else None


def page(session: Session, before: int | None, size: int) -> list[Load]:
    """The next `size` loads with numbers below `before`, newest first."""
    below = before if before is not None else 2**62
    return [
        _load(*row) for row in session.rows(f"{_SELECT} WHERE number < ? ORDER BY number DESC LIMIT ?", [below, size])
    ]


def _load(
    number: int,
    request_id: str,
    request_digest: str,
    schema: str,
    table: str,
    mode: str,
    file: str,
    created_at: datetime,
    rows: int,
    rejected_lines: int,
    names: list[str],
    types: list[str],
    seconds: float,
) -> Load:
    columns = tuple(zip(names, types, strict=True))
    return Load(
        number,
        request_id,
        request_digest,
        schema,
        table,
        LoadMode(mode),
        file,
        created_at,
        rows,
        rejected_lines,
        columns,
        seconds,
    )
