"""Removals, as the service offers them: rows taken out of a table, or the table with them, and their ledger."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tableveil.backend import Database, Session
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError, InternalError
from tableveil.loading import check_place, drop_table, empty, found_place
from tableveil.policy import TableReference
from tableveil.runtime.loads import check_permitted, found_target
from tableveil.runtime.manager import JobManager
from tableveil.state.jobs import now
from tableveil.state.removals import REMOVALS, Removal, RemovalKind

_WAYS: dict[RemovalKind, Callable[[Session, TableReference], int]] = {
    RemovalKind.TRUNCATE: empty,
    RemovalKind.DROP: drop_table,
}


class Removals:
    """Takes rows out of tables. May be used from any thread."""

    def __init__(self, database: Database, jobs: JobManager) -> None:
        self._database = database
        self._jobs = jobs

    def remove(self, kind: RemovalKind, wanted: TableReference, control: Control) -> Removal:
        """Removes all rows, or the table with them, in one transaction.

        Raises:
            NotFoundError: there is no such table.
            ConflictError: an unfinished job or a view reads it, or a release wrote it.
            CancelledError: `control` says to stop; nothing was removed.
        """
        with self._database.session() as session:
            session.control = control
            try:
                target = found_target(session, wanted, existing=True)
                check_place(session, target, existing=True)
                target = found_place(session, target) or target
                self._jobs.check_unread(target)
                with ExitStack() as until_committed, session.transaction():
                    number = self._recorded(session, kind, target, _WAYS[kind](session, target))
                    until_committed.enter_context(self._jobs.unread(target))
                    check_permitted(target)
            except Stopped:
                raise CancelledError("CANCELLED", "the removal was cancelled, and nothing was removed") from None
        return self._look(number)

    def _recorded(self, session: Session, kind: RemovalKind, target: TableReference, rows: int) -> int:
        number = REMOVALS.next_number(session.ledger)
        owner = session.sight.principal
        REMOVALS.insert(session.ledger, [Removal(number, kind, target.schema, target.table, now(), rows, owner)])
        return number

    def _look(self, number: int) -> Removal:
        """Checks that the removal exists: a commit's success is no proof that anything was written."""
        with self._database.ledger() as ledger:
            found = REMOVALS.find(ledger, number)
        if found is None:
            raise InternalError("NOT_REMOVED", "the commit left nothing behind")
        return found
