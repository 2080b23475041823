"""The store of loads: what was loaded into which table. Each is inserted by the transaction that loads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tableveil.backend import Ledger
from tableveil.state.mapper import NumberedTable


class LoadMode(StrEnum):
    """The effect of a load on the table."""

    CREATE = "CREATE"
    APPEND = "APPEND"


@dataclass(frozen=True, slots=True)
class Load:
    """A load that was done.

    `request_digest` distinguishes different requests with one `request_id`. `file` is empty if the rows came from a
    client. `columns` are the table's, as (name, type), after the load.
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


LOADS = NumberedTable(
    "loads",
    Load,
    "load_numbers",
    names={"schema": "table_schema", "table": "table_name", "rows": "row_count"},
)


def find_request(ledger: Ledger, request_id: str) -> Load | None:
    """The load that was requested with that request id."""
    return next(iter(LOADS.where(ledger, "request_id = ?", [request_id])), None)
