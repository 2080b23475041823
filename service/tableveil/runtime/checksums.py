"""Checksums of released rows, made once a release stands: its rows can be gone when the first report is asked for.

No job waits for them. They sort a digest of each row, which costs a tenth of a job and more.
"""

from __future__ import annotations

import logging
import threading

from tableveil.backend import Database
from tableveil.control import Control, Stopped
from tableveil.errors import TableveilError
from tableveil.release.row_checksum import stands, written_checksum
from tableveil.state import reports
from tableveil.state.releases import RELEASES

logger = logging.getLogger("tableveil.checksums")


class Checksums:
    """A thread that looks for releases without one: at its start, and after each release."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._control = Control()
        self._look = threading.Event()
        self._without: set[int] = set()
        self._thread = threading.Thread(target=self._work, name="tableveil-checksums")

    def start(self) -> None:
        """Begins with the releases that have none; the state is up to date."""
        self._look.set()
        self._thread.start()

    def look(self) -> None:
        """There may be a new release."""
        self._look.set()

    def close(self, seconds: float) -> bool:
        """Stops, also in the middle of a checksum, and returns whether the thread ended."""
        self._control.cancel()
        self._look.set()
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    def _work(self) -> None:
        while self._look.wait() and not self._control.cancelled:
            self._look.clear()
            try:
                self._make()
            except Stopped:
                return
            except TableveilError as error:
                # The first report tries again.
                logger.warning("a checksum of released rows was not made: %s", error.code)

    def _make(self) -> None:
        with self._database.ledger() as ledger:
            numbers = [number for number in reports.without_checksum(ledger) if number not in self._without]
            found = RELEASES.among(ledger, numbers)
        for release in found:
            # One that cannot have a checksum, or fails, is not tried at each release.
            self._without.add(release.number)
            if stands(release):
                with self._database.session() as session:
                    session.control = self._control
                    with session.transaction():
                        written_checksum(session, release)
