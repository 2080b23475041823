"""Tables of the database, as the service offers them: a list, and descriptions."""

from dataclasses import dataclass

from tableveil.backend import Database, catalog, folded
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError
from tableveil.policy import TableReference
from tableveil.source import find_table
from tableveil.source.description import TableDescription, describe
from tableveil.source.tables import STATE_SCHEMA, invalid, listed, without_values


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

    def page(self, after: tuple[str, str], size: int, schema: str = "") -> list[ListedTable]:
        """The next `size` tables and views after (schema, name), by schema and name; start with ("", "").

        They are those of a schema, if it is named.
        """
        with self._database.session() as session, session.reading():
            users = [
                listed_table
                for listed_table in listed(session)
                if listed_table.schema.lower() != STATE_SCHEMA
                and (not schema or folded(listed_table.schema) == folded(schema))
            ]
            page = [listed_table for listed_table in users if (listed_table.schema, listed_table.name) > after][:size]
            columns = catalog.columns(session, page)
            return [
                ListedTable(
                    listed_table.schema,
                    listed_table.name,
                    listed_table.kind == "view",
                    listed_table.rows,
                    tuple(
                        (name, without_values(type_)) for name, type_ in columns[listed_table.schema, listed_table.name]
                    ),
                )
                for listed_table in page
            ]

    def describe(self, wanted: TableReference, most_values: int, control: Control) -> TableDescription:
        """The contents of a table, with up to `most_values` values of each column.

        Raises:
            NotFoundError: there is no such table.
            CancelledError: `control` says to stop.
        """
        warehouse = self._database.warehouse_of(wanted.catalog)
        with self._database.session() as embedded, self._database.rows_session(embedded, warehouse) as session:
            embedded.control = session.control = control
            try:
                with session.reading():
                    reference, faults = find_table(session, wanted, "table")
                    if reference is None:
                        raise invalid("TABLE_INVALID", "the table cannot be described", faults)
                    return describe(session, reference, most_values)
            except Stopped:
                raise CancelledError("CANCELLED", "nobody waits for the description any more") from None
