"""The store of loads and removals: what was loaded into which table by which transaction, and taken out otherwise."""

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


class RemovalKind(StrEnum):
    """The extent of a removal: all rows, the table with them, or some people's rows."""

    TRUNCATE = "TRUNCATE"
    DROP = "DROP"
    ERASE = "ERASE"


@dataclass(frozen=True, slots=True)
class Removal:
    """A removal that was done; `rows` are the removed ones.

    An erasure is of some `persons`: the releases that were `holding` them, and those `untold` for lack of digests.
    """

    number: int
    kind: RemovalKind
    schema: str
    table: str
    at: datetime
    rows: int
    owner: str
    persons: int = 0
    holding: tuple[int, ...] = ()
    untold: tuple[int, ...] = ()


REMOVALS = NumberedTable(
    "removals",
    Removal,
    "removal_numbers",
    names={"schema": "table_schema", "table": "table_name", "at": "happened_at", "rows": "row_count"},
    seen=by_table("table_schema", "table_name"),
)
