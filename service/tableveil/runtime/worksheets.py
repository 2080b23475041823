"""Worksheets, as the service offers them: two writers never overwrite each other unseen."""

import threading
from collections.abc import Callable
from dataclasses import replace

from tableveil.backend import Database
from tableveil.errors import ConflictError, Fault, InvalidError, NotFoundError, shortened
from tableveil.policy import TableReference
from tableveil.source import find_table
from tableveil.state import worksheets as store
from tableveil.state.jobs import now
from tableveil.state.worksheets import WORKSHEETS, Worksheet

MOST_PER_TABLE = 100
"""Worksheets are thrown away in numbers only by hand: without a bound, they would fill the disk unseen."""

LONGEST_CONTENTS = 4 * 2**20
"""Characters of the contents: hierarchies that are longer belong on the server, once for all worksheets."""


class Worksheets:
    """Keeps the worksheets of tables that the caller owns. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # DuckDB would refuse one of two changes of a row, at its commit.
        self._changing = threading.Lock()

    def create(self, table: TableReference, contents: str, by: str) -> Worksheet:
        """Keeps a new worksheet of a table.

        Raises:
            InvalidError: there is no such table in the server's database, or the contents are too long.
            ConflictError: the table has as many worksheets as it may have.
        """
        _check_length(contents)
        with self._changing, self._database.session() as session:
            named, faults = find_table(session, table, "worksheet.table")
            if named is None:
                raise InvalidError.about("WORKSHEET_INVALID", "the worksheet is invalid", faults)
            if table.catalog in self._database.warehouses:
                elsewhere = f"a table in the warehouse {shortened(table.catalog)}"
                raise InvalidError.of("WORKSHEET_INVALID", "worksheet.table", elsewhere, "a table of the server's own")
            with session.transaction():
                if store.count_of(session.ledger, named) >= MOST_PER_TABLE:
                    raise ConflictError.of(
                        "WORKSHEETS_TOO_MANY",
                        "worksheet.table",
                        f"{MOST_PER_TABLE} worksheets of {shortened(f'{named.schema}.{named.table}')}",
                        f"at most {MOST_PER_TABLE}",
                        "Delete those that nobody needs: tableveil worksheets delete.",
                    )
                number, at = WORKSHEETS.next_number(session.ledger), now()
                made = Worksheet(number, named.schema, named.table, 1, at, at, by, contents)
                WORKSHEETS.insert(session.ledger, [made])
        return self.get(number)

    def get(self, number: int) -> Worksheet:
        """The worksheet with that number; `NotFoundError` if there is none."""
        with self._database.ledger() as ledger:
            match = WORKSHEETS.find(ledger, number)
        if match is None:
            expected = "an existing worksheet of a table of yours"
            raise NotFoundError.of("WORKSHEET_NOT_FOUND", "name", f"worksheets/{number}", expected)
        return match

    def page(self, before: int | None, size: int) -> list[Worksheet]:
        """The next `size` worksheets with numbers below `before`, newest first."""
        with self._database.ledger() as ledger:
            return WORKSHEETS.page(ledger, before, size)

    def update(self, number: int, etag: str, contents: Callable[[Worksheet], str], by: str) -> Worksheet:
        """Puts new contents in place of those of the worksheet that has the etag.

        Raises:
            InvalidError: the contents are too long, or there is no etag.
            NotFoundError: there is no such worksheet.
            ConflictError: its etag is another one by now.
        """
        if not etag:
            raise InvalidError.of("WORKSHEET_INVALID", "worksheet.etag", "nothing", "the etag that was read")
        with self._changing:
            kept = self._unchanged(number, etag, "worksheet.etag")
            changed = replace(
                kept, revision=kept.revision + 1, updated_at=now(), updated_by=by, contents=contents(kept)
            )
            _check_length(changed.contents)
            with self._database.ledger() as ledger, ledger.transaction():
                store.change(ledger, changed)
        return self.get(number)

    def delete(self, number: int, etag: str = "") -> None:
        """Deletes a worksheet; with an etag, only if that is still its own."""
        with self._changing:
            self._unchanged(number, etag, "etag")
            with self._database.ledger() as ledger, ledger.transaction():
                store.delete(ledger, number)

    def _unchanged(self, number: int, etag: str, field: str) -> Worksheet:
        kept = self.get(number)
        if etag and etag != str(kept.revision):
            fault = Fault(
                field,
                f"{shortened(etag)}, which was read before {shortened(kept.updated_by)} changed the worksheet",
                str(kept.revision),
                "Read it again, and make your change to what stands there now.",
            )
            raise ConflictError.about("WORKSHEET_CHANGED", "the worksheet has changed since it was read", [fault])
        return kept


def _check_length(contents: str) -> None:
    if len(contents) > LONGEST_CONTENTS:
        actual = f"{len(contents):,} characters as JSON"
        hint = "Store large hierarchies on the server: tableveil hierarchies."
        raise InvalidError.of("WORKSHEET_INVALID", "worksheet", actual, f"at most {LONGEST_CONTENTS:,}", hint)
