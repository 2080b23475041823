"""Stored hierarchies and declared privacy of tables, as the service offers them, and previews of any hierarchy."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from tableveil.backend import Database, Ledger
from tableveil.control import Control, Stopped
from tableveil.dictionary import Preview, PreviewRequest, preview_hierarchy
from tableveil.errors import Fault, InvalidError, NotFoundError, nearest, shortened
from tableveil.hierarchy import StoredLevels, check_levels, schema_of
from tableveil.policy import TableReference
from tableveil.source.tables import find_table, owned_schemas
from tableveil.state import hierarchies
from tableveil.state import table_privacy as store
from tableveil.state.compare_hierarchies import HierarchyComparison, compare
from tableveil.state.hierarchies import Stored
from tableveil.state.jobs import now
from tableveil.state.lineage import changing_rights
from tableveil.state.loads import LOADS
from tableveil.state.table_privacy import TablePrivacy

LONGEST_ORIGIN = 1000


class Hierarchies:
    """Creates, lists, reads and compares the hierarchies kept in the database. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, rows: Sequence[Sequence[str]], origin: str = "") -> Stored:
        """Stores the rows as the next version of `name`, or returns the version with exactly these rows.

        Raises:
            InvalidError: with all faults of the rows.
        """
        # The rows are the request's own, not those of a hierarchy in a policy.
        levels = check_levels(rows, "hierarchy")
        faults = [replace(fault, field=fault.field.removeprefix("hierarchy.")) for fault in levels]
        if len(origin) > LONGEST_ORIGIN:
            faults.insert(0, Fault("origin", f"{len(origin):,} characters", f"at most {LONGEST_ORIGIN:,} characters"))
        if not name:
            faults.insert(0, Fault("name", "nothing", "a name for the hierarchy"))
        if faults:
            raise InvalidError.about("HIERARCHY_INVALID", "the hierarchy is invalid", faults)
        with self._database.session() as session:
            schema, schemas = schema_of(name), owned_schemas(session)
            if schema not in schemas:
                named, expected = f"{shortened(name)}, in a schema that is not there", "SCHEMA/NAME, or a name in main"
                raise InvalidError.of("HIERARCHY_INVALID", "name", named, expected, nearest(schema, schemas))
            return hierarchies.create(session.ledger, name, rows, origin)

    def forget(self, wanted: StoredLevels, values: Sequence[str]) -> tuple[Stored, int]:
        """Takes the rows of these values out of a version; returns it as it is then, and the number of those rows.

        Raises:
            NotFoundError: it does not exist.
            InvalidError: it would have no row.
        """
        with self._database.session() as session:
            ledger, name = session.ledger, "forgotten_values"
            with session.relation(name, pa.table({"value": pa.array(values, pa.string())})), session.transaction():
                before = hierarchies.find(ledger, wanted.name, wanted.version)
                left = hierarchies.forget_rows(ledger, before, name)
            if not left:
                found = f"all {before.row_count:,} values of {shortened(before.reference)}"
                raise InvalidError.of("HIERARCHY_INVALID", "values", found, "fewer: a hierarchy keeps a row")
        return replace(before, row_count=left), before.row_count - left

    def get(self, wanted: StoredLevels) -> Stored:
        """A version; `NotFoundError` if it does not exist."""
        with self._database.ledger() as ledger:
            return hierarchies.find(ledger, wanted.name, wanted.version)

    def page(self, after: tuple[str, int], size: int) -> list[Stored]:
        """The next `size` versions after (name, version), by name and newest first; start with ("", 0)."""
        with self._database.ledger() as ledger:
            return hierarchies.page(ledger, after, size)

    def preview(self, request: PreviewRequest, control: Control) -> Preview:
        """The labels that a hierarchy gives a column, or its levels by themselves; nothing is stored.

        Raises:
            InvalidError: with all faults of the hierarchy, or of using it on the column.
            Stopped: `control` says so.
        """
        if control.must_stop:
            raise Stopped
        warehouse = "" if request.table is None else self._database.warehouse_of(request.table.catalog)
        with self._database.session() as embedded, self._database.rows_session(embedded, warehouse) as session:
            embedded.control = session.control = control
            return preview_hierarchy(session, request)

    def compare(
        self, earlier: StoredLevels, later: StoredLevels, examples: int, control: Control | None = None
    ) -> HierarchyComparison:
        """The differences between two versions, with up to `examples` values of each kind.

        Raises:
            NotFoundError: one of them does not exist; its fault's field is below `earlier` or `later`.
            Stopped: `control` says so.
        """
        with self._database.ledger() as ledger:
            ledger.control = control
            return compare(ledger, _found(ledger, earlier, "earlier"), _found(ledger, later, "later"), examples)

    @contextmanager
    def read(self, wanted: StoredLevels) -> Iterator[tuple[Stored, Iterator[list[tuple[str, ...]]]]]:
        """A version and its rows, in batches.

        Raises:
            NotFoundError: it does not exist; its fault's field is below `hierarchy`.
        """
        with self._database.ledger() as ledger:
            stored = _found(ledger, wanted, "hierarchy")
            yield stored, hierarchies.batches(ledger, stored)


def _found(ledger: Ledger, wanted: StoredLevels, field: str) -> Stored:
    try:
        return hierarchies.find(ledger, wanted.name, wanted.version)
    except NotFoundError as error:
        faults = [replace(fault, field=f"{field}.{fault.field}") for fault in error.faults]
        raise NotFoundError.about(error.code, "no such hierarchy", faults) from None


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
