"""The audit of an endpoint: a file of its own, chained like the service's."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path

from tableveil.audit import Refused
from tableveil.audit.file import AuditFile
from tableveil.audit.refusals import Refusals
from tableveil.errors import BusyError
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now

logger = logging.getLogger("tableveil.audit")

_SECONDS_BETWEEN_LOOKS = 1.0


class Record:
    """The open audit; used from any thread."""

    def __init__(self, path: Path) -> None:
        """Opens the file; raises `TableveilError` if it cannot be used."""
        self._file = AuditFile(path)
        self._refusals = Refusals()
        self._closing = threading.Event()
        try:
            self._file.append(AuditEntry(now(), AuditEvent.STARTED))
        except BaseException:
            self._file.close()
            raise
        self._thread = threading.Thread(target=self._run, name="tableveil-audit", daemon=True)
        self._thread.start()

    def begin(self, entry: AuditEntry) -> None:
        """Returns once the entry is on the disk; `BusyError` if it cannot be written."""
        self._file.append(entry)

    def end(self, entry: AuditEntry) -> None:
        """Like `begin`, for the end of something whose begin is there: it is written later if not now."""
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
        # A log that is kept elsewhere shows later whether the chain was computed anew.
        logger.info("the audit ends with entry %d, %s", self._file.head.number, self._file.head.hash)
        self._file.close()

    def _run(self) -> None:
        while not self._closing.wait(_SECONDS_BETWEEN_LOOKS):
            self._write_refusals()

    def _write_refusals(self, all_minutes: bool = False) -> None:
        if self._file.settle():
            for entry in self._refusals.take(all_minutes=all_minutes):
                # It is owed if it fails.
                with suppress(BusyError):
                    self._file.append_owed(entry)
