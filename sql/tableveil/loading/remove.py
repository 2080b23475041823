"""Takes rows out of a table: all of them, or the table with them."""

from sqlglot import exp

from tableveil.backend import Session, drop, table
from tableveil.errors import ConflictError, Fault
from tableveil.policy import TableReference
from tableveil.source.dependants import views_reading


def empty(session: Session, target: TableReference, where: exp.Expr | None = None) -> int:
    """Removes the rows that meet the condition, by default all, and returns their number; call it in a transaction."""
    rows = exp.Delete(this=table(target.table, target.schema, target.catalog))
    removed: int = session.value(rows if where is None else rows.where(where))
    return removed


def drop_table(session: Session, target: TableReference) -> int:
    """Removes a table, and returns the number of its rows; call it in a transaction.

    Raises:
        ConflictError: views read it.
    """
    faults = [
        Fault("table", f"{shown}, which reads the table", "no view that needs it", "Drop the view first.")
        for shown in views_reading(session, {(target.schema.casefold(), target.table.casefold())})
    ]
    if faults:
        raise ConflictError.about("TABLE_HAS_DEPENDANTS", "the table cannot be dropped while views read it", faults)
    removed = empty(session, target)
    session.execute(drop("TABLE", table(target.table, target.schema, target.catalog)))
    return removed
