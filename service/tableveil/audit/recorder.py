"""The file of an audit with its starts, its stops, and the counts of calls that were refused in numbers."""

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tableveil.audit.entry import Head
from tableveil.audit.file import AuditFile
from tableveil.audit.refusals import Refusals, Refused
from tableveil.errors import BusyError
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now

logger = logging.getLogger("tableveil.audit")

SECONDS_BETWEEN_TURNS = 1.0
_TURNS_BETWEEN_HEADS = 3600


class Recorder:
    """The open file; used from any thread. Close it when done."""

    def __init__(self, path: Path, known: Head | None = None) -> None:
        """Opens the file; `known` is the end of the chain if there is no file.

        Raises:
            TableveilError: the file cannot be used.
        """
        self._file = AuditFile(path, known)
        self._refusals = Refusals()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tableveil-audit", daemon=True)

    def start(self, note: str = "", pending: Sequence[AuditEntry] = ()) -> None:
        """Records the start, and then what could not be recorded before; `BusyError` if that cannot be written.

        From now on a thread of its own writes the counts of refused calls.
        """
        try:
            for entry in (AuditEntry(now(), AuditEvent.STARTED, note=note), *pending):
                self._file.append(entry)
        except BaseException:
            self._file.close()
            raise
        self._thread.start()

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

    def close(self) -> None:
        """Records the stop."""
        self._closing.set()
        self._thread.join()
        self._write_refusals(all_minutes=True)
        with suppress(BusyError):
            self._file.append(AuditEntry(now(), AuditEvent.STOPPED))
        self._copy()
        self._log_head()
        self._file.close()

    def _copy(self) -> None:
        """Copies new entries elsewhere, where there are copies."""

    def _run(self) -> None:
        turns = 0
        while not self._closing.wait(SECONDS_BETWEEN_TURNS):
            self._write_refusals()
            self._copy()
            if turns % _TURNS_BETWEEN_HEADS == 0:
                self._log_head()
            turns += 1

    def _write_refusals(self, all_minutes: bool = False) -> None:
        if self._file.settle():
            for entry in self._refusals.take(all_minutes=all_minutes):
                # It is owed if it fails.
                with suppress(BusyError):
                    self._file.append_owed(entry)

    def _log_head(self) -> None:
        # A log that is kept elsewhere shows later whether the chain was computed anew.
        logger.info("the audit ends with entry %d, %s", self.head.number, self.head.hash)
