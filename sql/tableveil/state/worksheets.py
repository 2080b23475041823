"""The store of worksheets, which show values of a table: only those who own the table see them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Ledger
from tableveil.policy import TableReference
from tableveil.state.answered_requests import forget_answers
from tableveil.state.loads import into
from tableveil.state.mapper import NumberedTable
from tableveil.state.seen import by_table


@dataclass(frozen=True, slots=True)
class Worksheet:
    """The decisions about a table; the contents are a document of the service. Each change has its own `revision`."""

    number: int
    schema: str
    table: str
    revision: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    contents: str


WORKSHEETS = NumberedTable(
    "worksheets",
    Worksheet,
    "worksheet_numbers",
    names={"schema": "table_schema", "table": "table_name"},
    seen=by_table("table_schema", "table_name"),
)


def count_of(ledger: Ledger, table: TableReference) -> int:
    """The number of the table's worksheets."""
    condition, values = into(table.schema, table.table)
    value: int = ledger.value(f"SELECT count(*) FROM tableveil.worksheets WHERE {condition}", values)
    return value


def change(ledger: Ledger, changed: Worksheet) -> None:
    """Puts the worksheet in place of the one of its number; call it in a transaction."""
    WORKSHEETS.delete(ledger, changed.number)
    WORKSHEETS.insert(ledger, [changed])


def delete(ledger: Ledger, number: int) -> None:
    """Deletes the worksheet of that number; call it in a transaction."""
    forget_answers(ledger, "WorksheetService")
    WORKSHEETS.delete(ledger, number)


def forget(ledger: Ledger, table: TableReference, numbers: Collection[int] | None = None) -> int:
    """Deletes the table's worksheets, by default all, and returns how many; call it in a transaction."""
    forget_answers(ledger, "WorksheetService")
    condition, values = into(table.schema, table.table)
    if numbers is not None:
        condition, values = f"{condition} AND list_contains(?::BIGINT[], number)", [*values, list(numbers)]
    return len(ledger.rows(f"DELETE FROM tableveil.worksheets WHERE {condition} RETURNING number", values))
