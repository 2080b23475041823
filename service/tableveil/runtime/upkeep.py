"""Upkeep of the database of a running server: its state, backups, schemas, and retention of jobs."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from pathlib import Path

from tableveil.backend import Database, folded
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError, InternalError, NotFoundError, TableveilError, nearest, shortened
from tableveil.operate import Backup, Backups, Finding, create_schema, examine_file, examine_state
from tableveil.state import answered_requests, removal
from tableveil.state.migrate import SCHEMA as STATE_SCHEMA


class Upkeep:
    """Examines the database and copies it. May be used from any thread."""

    def __init__(
        self,
        database: Database,
        backup_directory: Path | None,
        at_work: Callable[[], Collection[int]],
        others: Callable[[], Iterable[Finding]] = tuple,
    ) -> None:
        """`at_work` names the jobs that have not ended, `others` examines the rest of the server.

        See `Backups` for the errors of a directory.
        """
        self.database = database.path.resolve()
        self._database = database
        self._at_work = at_work
        self._others = others
        self._backups = Backups(database, backup_directory)

    @property
    def warehouses(self) -> list[str]:
        """Names of the places beside the database that tables may be in."""
        return sorted(self._database.warehouses)

    def examine(self, control: Control) -> list[Finding]:
        """All findings of an examination; `Stopped` if `control` says so."""
        with self._database.session() as session:
            session.control = control
            file = examine_file(self.database, served=True, replaced=self._database.replaced)
            return [*file, *self._others(), *examine_state(session, self._at_work)]

    def find_schema(self, name: str, administered: Callable[[str], bool]) -> str:
        """The name of a schema, given in any case, which the session owns a part of, or its caller administers.

        Raises:
            NotFoundError: there is no such schema.
        """
        with self._database.session() as session:
            users = [schema for schema in session.schemas() if schema != STATE_SCHEMA]
            seen = [one for one in users if session.visibility.owned.reaches(one) or administered(one)]
        for schema in seen:
            if folded(schema) == folded(name):
                return schema
        expected = "a schema that you own a part of, or administer"
        raise NotFoundError.of("SCHEMA_NOT_FOUND", "name", f"schemas/{shortened(name)}", expected, nearest(name, seen))

    def create_schema(self, name: str, control: Control) -> None:
        """Creates a schema; see `operate.create_schema`."""
        with self._database.session() as session:
            session.control = control
            create_schema(session, name)
            # A commit's success is no proof that anything was written.
            if name not in session.schemas():
                raise InternalError("NOT_CREATED", "the commit left nothing behind")

    def back_up(self, name: str, keep: int | None, control: Control) -> Backup:
        """Writes a backup, and leaves the `keep` latest ones; see `Backups.make`.

        Raises:
            CancelledError: `control` said so; nothing is left of it.
        """
        try:
            return self._backups.make(name, control, keep)
        except Stopped:
            raise CancelledError("CANCELLED", "the backup was given up") from None


logger = logging.getLogger("tableveil.jobs")

SECONDS_BETWEEN_RUNS = 24 * 60 * 60.0


def delete_old(database: Database, age: timedelta) -> tuple[int, int]:
    """Deletes jobs that ended longer ago than `age` with their results, and progress of those that made releases.

    Releases with their evidence, their jobs and their objects stay. Returns the numbers of jobs and of progress events.
    """
    with database.ledger() as ledger:
        old = removal.ended_before(ledger, age)
        for number, kind in old:
            removal.delete_job(ledger, number, kind)
        events = removal.thin_events(ledger, age)
        answered_requests.delete_old(ledger, age)
    logger.info("retention: deleted %d jobs and %d progress events older than %d days", len(old), events, age.days)
    return len(old), events


class Retention:
    """Deletes what is older than `keep_days`, in a thread of its own, until it is closed."""

    def __init__(self, database: Database, keep_days: int) -> None:
        self._database = database
        self._age = timedelta(days=keep_days)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tableveil-retention")
        self._thread.start()

    def close(self) -> None:
        """Waits until the running deletion is done."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                delete_old(self._database, self._age)
            except TableveilError as error:
                logger.error("retention failed and is tried again tomorrow: %s", error.code)
            self._closing.wait(SECONDS_BETWEEN_RUNS)
