"""The declared privacy of tables, as the service offers it."""

import threading

from tableveil.backend import Database
from tableveil.errors import InvalidError, NotFoundError, shortened
from tableveil.policy import TableReference
from tableveil.source.tables import find_table
from tableveil.state import table_privacy as store
from tableveil.state.jobs import now
from tableveil.state.lineage import changing_rights
from tableveil.state.loads import LOADS
from tableveil.state.table_privacy import TablePrivacy


class Privacies:
    """Declares and finds the privacy of tables that the caller sees. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Two versions of one number would be told apart by nobody.
        self._declaring = threading.Lock()

    def find(self, table: TableReference) -> TablePrivacy | None:
        """The newest version of a table's privacy; None if there is none, or no such table."""
        with self._database.session() as session:
            named, _ = find_table(session, table, "table")
            return None if named is None else store.find(session.ledger, named)

    def table_of_load(self, number: int) -> TableReference | None:
        """The table of a load; None if the caller sees no such load."""
        with self._database.ledger() as ledger:
            load = LOADS.find(ledger, number)
        return None if load is None else TableReference("", load.schema, load.table)

    def get(self, table: TableReference, version: int = 0) -> TablePrivacy:
        """A version of a table's privacy, the newest one if 0; `NotFoundError` if there is none."""
        if table.catalog in self._database.warehouses:
            elsewhere = f"the privacy of a table in the warehouse {shortened(table.catalog)}"
            hint = "Only tables of the server's own database have one: state all of it in the policy."
            raise NotFoundError.of("PRIVACY_NOT_FOUND", "table", elsewhere, "one that was declared", hint)
        with self._database.session() as session:
            named, faults = find_table(session, table, "table")
            if named is None:
                raise NotFoundError.about("TABLE_NOT_FOUND", "no such table", faults)
            privacy = store.find(session.ledger, named, version)
        if privacy is None:
            which = f"version {version} of the privacy" if version else "the privacy"
            hint = "Declare it: ALTER TABLE … SET PRIVACY (…)."
            name = shortened(f"{named.schema}.{named.table}")
            raise NotFoundError.of("PRIVACY_NOT_FOUND", "table", f"{which} of {name}", "one that was declared", hint)
        return privacy

    def declare(self, table: TableReference, privacy: str, declared_by: str) -> TablePrivacy:
        """Declares the privacy of a table, which was checked, from now on."""
        with self._declaring, self._database.session() as session:
            named, faults = find_table(session, table, "table")
            if named is None:
                raise InvalidError.about("PRIVACY_INVALID", "no such table", faults)
            with changing_rights(self._database.path, session.ledger):
                return store.declare(session.ledger, named, privacy, declared_by, now())
