"""The store of removals: rows that were taken out of tables otherwise than by a load."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tableveil.state.mapper import NumberedTable
from tableveil.state.seen import by_table


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
