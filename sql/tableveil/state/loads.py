"""The store of loads: what was loaded into which table. Each is inserted by the transaction that loads."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tableveil.backend import Ledger
from tableveil.state.mapper import NumberedTable
from tableveil.state.seen import Condition, by_table


class LoadMode(StrEnum):
    """The effect of a load on the table."""

    CREATE = "CREATE"
    APPEND = "APPEND"
    REPLACE = "REPLACE"


@dataclass(frozen=True, slots=True)
class Load:
    """A load that was done.

    `request_digest` distinguishes different requests of an `owner` with one `request_id`. `file` is where the rows came
    from; it may be empty. `columns` are the table's, as (name, type), after the load; one that replaced rows
    `removed_rows`. `content` identifies what was loaded under a request id; NULL without one.
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
    owner: str = ""
    removed_rows: int = 0
    content: str | None = None


LOADS = NumberedTable(
    "loads",
    Load,
    "load_numbers",
    names={"schema": "table_schema", "table": "table_name", "rows": "row_count"},
    seen=by_table("table_schema", "table_name"),
)


def into(schema: str, table: str) -> Condition:
    """Loads into a table."""
    return "lower(table_schema) = lower(?) AND lower(table_name) = lower(?)", [schema, table]


def find_request(ledger: Ledger, request_id: str) -> Load | None:
    """The load that the principal requested with that request id."""
    parameters = [request_id, ledger.visibility.principal]
    return next(iter(LOADS.where(ledger, "request_id = ? AND owner = ?", parameters)), None)
