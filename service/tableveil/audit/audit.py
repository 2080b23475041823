"""The audit of a server: its file, the copies of it, and the counts of calls that were refused in numbers."""

import logging
from contextlib import ExitStack
from pathlib import Path

from tableveil.audit.copies import Copies, Syslog
from tableveil.audit.entry import Head
from tableveil.audit.recorder import Recorder
from tableveil.audit.verify import Verified, verify
from tableveil.backend import Database
from tableveil.control import Control
from tableveil.errors import TableveilError
from tableveil.operate import LEAST_FREE_BYTES, Finding, Level, free_bytes
from tableveil.operate.disk import in_bytes
from tableveil.state import audit_entries as store
from tableveil.state.audit_entries import AuditEntry, AuditFilter

logger = logging.getLogger("tableveil.audit")


class Audit(Recorder):
    """The open audit; used from any thread. Close it before the database."""

    def __init__(self, path: Path, database: Database, syslog: str | None = None) -> None:
        """Opens the file, and copies in a thread of its own what the database does not have yet.

        Raises:
            TableveilError: the file or the address of syslog cannot be used.
        """
        sender = None if syslog is None else Syslog(syslog)
        with database.ledger() as ledger:
            newest = store.newest(ledger)
        super().__init__(path, Head(*newest) if newest else None)
        self._database = database
        self._copying_failed = False
        with ExitStack() as failed:
            failed.callback(self._file.close)
            self._copies = Copies(self._file, database, sender)
            with database.ledger() as ledger:
                self.start(_difference(self.head, newest), store.pending(ledger))
                store.forget_pending(ledger)
            failed.pop_all()

    def examine(self) -> Finding:
        """Whether there is room for more entries: without it, calls are refused."""
        free = free_bytes(self._file.path.parent)
        actual = f"{in_bytes(free)} free where its file is, {self.lag} entries not in the database yet"
        if free < LEAST_FREE_BYTES:
            return Finding(Level.PROBLEM, "audit", actual, "Calls are refused once it cannot be written: free space.")
        return Finding(Level.OK, "audit", actual)

    @property
    def lag(self) -> int:
        """Entries that the database does not have yet."""
        return self._copies.lag

    def verified(self, head: str, after: str, control: Control) -> Verified:
        """The result of verifying the file as it is now; see `verify`."""
        return verify([self._file.path], head, after or None, control)

    def page(self, wanted: AuditFilter, before: int | None, size: int) -> list[AuditEntry]:
        """The next `size` wanted entries with numbers below `before`, newest first."""
        self._copy()
        with self._database.ledger() as ledger:
            return store.page(ledger, wanted, before, size)

    def close(self) -> None:
        """Records the stop, and copies the rest."""
        super().close()
        self._copies.close()

    def _copy(self) -> None:
        try:
            self._copies.catch_up()
            self._copying_failed = False
        except (TableveilError, OSError, ValueError) as error:
            if not self._copying_failed:
                reason = error.code if isinstance(error, TableveilError) else type(error).__name__
                logger.error("the audit is not copied into the database: %s", reason)
            self._copying_failed = True


def _difference(head: Head, copied: tuple[int, str] | None) -> str:
    """Says that the file lacks the last entry that was copied from it, if it does: entries were cut off."""
    if copied is None or head.number > copied[0] or head == Head(*copied):
        return ""
    note = f"the database has entry {copied[0]} with the hash {copied[1]}, and the file does not"
    logger.error("the audit: %s", note)
    return note
