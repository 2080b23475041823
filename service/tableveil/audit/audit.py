"""The audit of a server: its file, the copies of it, and the counts of calls that were refused in numbers."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path

from tableveil.audit.copies import Copies
from tableveil.audit.entry import Head
from tableveil.audit.file import AuditFile
from tableveil.audit.refusals import Refusals, Refused
from tableveil.audit.syslog import Syslog
from tableveil.backend import Database
from tableveil.errors import BusyError, TableveilError
from tableveil.operate import LEAST_FREE_BYTES, Finding, Level, free_bytes
from tableveil.operate.disk import in_bytes
from tableveil.state import audit_entries as store
from tableveil.state.audit_entries import AuditEntry, AuditEvent, AuditFilter
from tableveil.state.jobs import now

logger = logging.getLogger("tableveil.audit")

SECONDS_BETWEEN_COPIES = 1.0
_COPIES_BETWEEN_HEADS = 3600


class Audit:
    """The open audit; used from any thread. Close it before the database."""

    def __init__(self, path: Path, database: Database, syslog: str | None = None) -> None:
        """Opens the file, and copies in a thread of its own what the database does not have yet.

        Raises:
            TableveilError: the file or the address of syslog cannot be used.
        """
        sender = None if syslog is None else Syslog(syslog)
        with database.ledger() as ledger:
            found = store.newest(ledger)
        self._database = database
        self._file = AuditFile(path, Head(*found) if found else None)
        self._copies = Copies(self._file, database, sender)
        self._refusals = Refusals()
        self._copying_failed = False
        try:
            self._file.append(AuditEntry(now(), AuditEvent.STARTED, note=_difference(self._file.head, found)))
            with database.ledger() as ledger:
                for entry in store.pending(ledger):
                    self._file.append(entry)
                store.forget_pending(ledger)
        except BaseException:
            self._file.close()
            raise
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tableveil-audit")
        self._thread.start()

    def examine(self) -> Finding:
        """Whether there is room for more entries: without it, calls are refused."""
        free = free_bytes(self._file.path.parent)
        found = f"{in_bytes(free)} free where its file is, {self.lag} entries not in the database yet"
        if free < LEAST_FREE_BYTES:
            return Finding(Level.PROBLEM, "audit", found, "Calls are refused once it cannot be written: free space.")
        return Finding(Level.OK, "audit", found)

    @property
    def lag(self) -> int:
        """Entries that the database does not have yet."""
        return self._copies.lag

    @property
    def head(self) -> Head:
        """The end of the chain, to be kept elsewhere."""
        return self._file.head

    def record(self, entry: AuditEntry) -> None:
        """Returns once the entry is on the disk; `BusyError` (AUDIT_UNAVAILABLE) if it cannot be written."""
        self._file.append(entry)

    def record_end(self, entry: AuditEntry) -> None:
        """Like `record`, for the end of a call whose begin is recorded: it is written later if not now."""
        self._file.append_owed(entry)

    def count(self, refused: Refused) -> None:
        """Counts a refused call, for the entry of its minute."""
        self._refusals.count(refused)

    def page(self, wanted: AuditFilter, before: int | None, size: int) -> list[AuditEntry]:
        """The next `size` wanted entries with numbers below `before`, newest first."""
        self._copy()
        with self._database.ledger() as ledger:
            return store.page(ledger, wanted, before, size)

    def close(self) -> None:
        """Records the stop, and copies the rest."""
        self._closing.set()
        self._thread.join()
        self._write_refusals(all_minutes=True)
        with suppress(BusyError):
            self._file.append(AuditEntry(now(), AuditEvent.STOPPED))
        self._copy()
        self._log_head()
        self._copies.close()
        self._file.close()

    def _run(self) -> None:
        turns = 0
        while not self._closing.wait(SECONDS_BETWEEN_COPIES):
            self._write_refusals()
            self._copy()
            if turns % _COPIES_BETWEEN_HEADS == 0:
                self._log_head()
            turns += 1

    def _write_refusals(self, all_minutes: bool = False) -> None:
        if self._file.settle():
            for entry in self._refusals.take(all_minutes=all_minutes):
                # It is owed if it fails.
                with suppress(BusyError):
                    self._file.append_owed(entry)

    def _copy(self) -> None:
        try:
            self._copies.catch_up()
            self._copying_failed = False
        except (TableveilError, OSError, ValueError) as error:
            if not self._copying_failed:
                reason = error.code if isinstance(error, TableveilError) else type(error).__name__
                logger.error("the audit is not copied into the database: %s", reason)
            self._copying_failed = True

    def _log_head(self) -> None:
        # A log that is kept elsewhere shows later whether the chain was computed anew.
        logger.info("the audit ends with entry %d, %s", self.head.number, self.head.hash)


def _difference(head: Head, copied: tuple[int, str] | None) -> str:
    """Says that the file lacks the last entry that was copied from it, if it does: entries were cut off."""
    if copied is None or head.number > copied[0] or head == Head(*copied):
        return ""
    note = f"the database has entry {copied[0]} with the hash {copied[1]}, and the file does not"
    logger.error("the audit: %s", note)
    return note
