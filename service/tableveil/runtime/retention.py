"""Retention: deletes jobs that ended, and forgets named changes, long ago; once at start and then every day."""

import logging
import threading
from datetime import timedelta

from tableveil.backend import Database
from tableveil.errors import TableveilError
from tableveil.state import answered_requests, removal

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
