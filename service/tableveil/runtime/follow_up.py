"""Work that is left to do after each release, by threads of their own: no job waits for it, and a kill puts it off."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from tableveil.backend import Database
from tableveil.control import Control, Stopped
from tableveil.errors import TableveilError
from tableveil.lifecycle import unseen_matches, withdraw
from tableveil.lifecycle.row_checksum import stands, written_checksum
from tableveil.state import matches, reports, trials
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now
from tableveil.state.releases import ORIGINS, RELEASES, STANDING


class FollowUp(ABC):
    """A thread that looks for what is left to do: at its start, after each release, and after so many seconds."""

    def __init__(self, database: Database, name: str, seconds: float | None = None) -> None:
        self._database, self._name, self._seconds = database, name, seconds
        self._control = Control()
        self._look = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"tableveil-{name}")

    def start(self) -> None:
        """Begins with what an earlier process left undone; the state is up to date."""
        self._look.set()
        self._thread.start()

    def look(self) -> None:
        """There may be a new release."""
        self._look.set()

    def close(self, seconds: float) -> bool:
        """Stops, also in the middle of its work, and returns whether the thread ended."""
        self._control.cancel()
        self._look.set()
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    @abstractmethod
    def follow(self) -> None:
        """Does all that is left to do; sessions are given `self._control`."""

    def _work(self) -> None:
        while True:
            self._look.wait(self._seconds)
            if self._control.cancelled:
                return
            self._look.clear()
            try:
                self.follow()
            except Stopped:
                return
            except TableveilError as error:
                message = "%s after a release failed, and are tried again after the next one: %s"
                logging.getLogger(f"tableveil.{self._name}").warning(message, self._name, error.code)


class Checksums(FollowUp):
    """Makes those that are missing; if one fails, the first report tries again."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "checksums")
        self._without: set[int] = set()

    def follow(self) -> None:
        """Makes the checksum of each release that has none."""
        with self._database.ledger() as ledger:
            numbers = [number for number in reports.without_checksum(ledger) if number not in self._without]
            releases = STANDING.among(ledger, numbers)
        for release in releases:
            # One that cannot have a checksum, or fails, is not tried at each release.
            self._without.add(release.number)
            if stands(release):
                with self._database.session() as session:
                    session.control = self._control
                    with session.transaction():
                        written_checksum(session, release)


SECONDS_BETWEEN_LOOKS = 600.0


class Expiry(FollowUp):
    """Withdraws each expired trial, unless somebody uses it: then after the next look."""

    def __init__(self, database: Database, unused: Callable[[int], AbstractContextManager[None]]) -> None:
        """See `lifecycle.withdraw` for `unused`, which is given the number of a release."""
        super().__init__(database, "expiry", SECONDS_BETWEEN_LOOKS)
        self._unused = unused

    def follow(self) -> None:
        """The ones that have expired by now."""
        with self._database.ledger() as ledger:
            numbers = trials.expired(ledger, now())
            found = RELEASES.among(ledger, numbers) if numbers else []
        for trial in found:
            withdraw(self._database, trial, "It expired.", self._control, partial(self._unused, trial.number))


class Matches(FollowUp):
    """Compares each release once with those that its submitter could not see, and records what it finds."""

    def __init__(self, database: Database, record: Callable[[AuditEntry], None]) -> None:
        """`record` appends to the audit. After a kill it may be told again what it was told."""
        super().__init__(database, "matches")
        self._record = record

    def follow(self) -> None:
        """Compares the releases that nobody has compared yet."""
        with self._database.session() as session:
            session.control = self._control
            for number in matches.unmatched(session.ledger):
                (release,) = ORIGINS.among(session.ledger, [number])
                read_matches = unseen_matches(session, release)
                for match in read_matches:
                    names = (f"releases/{match.release}", f"releases/{match.other}")
                    self._record(AuditEntry(now(), AuditEvent.MATCH, resources=names, note=match.finding))
                matches.store(session.ledger, number, read_matches)
