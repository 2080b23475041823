"""The manager of jobs: opens them, has them run, and ends, deletes and follows them; see `submissions` and `views`."""

import logging
import time
from collections.abc import Callable

from tableveil.backend import Database
from tableveil.control.current_job import at_hand
from tableveil.counting.cost import memory_limit
from tableveil.errors import CancelledError, ConflictError
from tableveil.lifecycle import recover
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.runtime.follow_up import Checksums, Expiry
from tableveil.runtime.memory import MemoryBudget
from tableveil.runtime.model import Failure, Job, Nobody, Observer
from tableveil.runtime.publishing import Publishing
from tableveil.runtime.queue import DEFAULT_SETTINGS, JobQueue, JobSettings
from tableveil.runtime.recorder import interrupted
from tableveil.runtime.release_lifecycle import ReleaseLifecycle
from tableveil.runtime.submissions import Submissions
from tableveil.runtime.workers import Workers
from tableveil.state import jobs, removal
from tableveil.state.jobs import JobKind
from tableveil.state.lineage import notice_older_ledger
from tableveil.state.migrate import migrate

logger = logging.getLogger("tableveil.jobs")


class JobManager(Submissions):
    """Runs jobs, their owners in turn, up to a number at once and as many as fit into memory.

    `releases` changes what they made. May be used from any thread.
    """

    def __init__(
        self,
        database: Database,
        settings: JobSettings = DEFAULT_SETTINGS,
        observer: Observer | None = None,
        publishing: Publishing | None = None,
        policy_of: PolicyOf | None = None,
    ) -> None:
        """Starts the workers; the state is settled. See `open_jobs`.

        The `observer` counts jobs. `publishing` is started. `policy_of` reads the policies of the ledger.
        """
        with database.ledger() as ledger:
            budget = MemoryBudget(settings.memory or memory_limit(ledger), settings.concurrent_jobs)
        publishing = publishing or Publishing(database)
        super().__init__(database, JobQueue(settings.limits, budget), publishing, policy_of)
        if publishing.has_targets:
            publishing.start()
        self._checksums = Checksums(database)
        self._checksums.start()
        self._expiry = Expiry(database, self.unused)
        self._expiry.start()
        self._followers = [*([publishing.look] if publishing.has_targets else []), self._checksums.look]
        self.releases = ReleaseLifecycle(
            database, self, publishing, settings.approval, policy_of, made=self._after_release
        )
        self._workers = Workers(database, self._queue, settings, observer or Nobody(), self._after_release, policy_of)

    def cancel(self, number: int) -> Job:
        """Asks a job to stop. A job that has ended, or whose release is being committed, stays as it is."""
        self.get(number)
        if (queued := self._queue.cancel(number)) is not None:
            cancelled = CancelledError("CANCELLED", "the job was cancelled before it started")
            self._workers.end(queued, Failure.of(cancelled))
        return self.get(number)

    def keep_best(self, number: int) -> Job:
        """Asks the search of a job to end with the best that it has. If it has ended already, the job goes on as it is.

        Raises:
            NotFoundError: there is no such job.
            DeniedError: another principal submitted it: whether there is a best tells of its source, and it is written.
            ConflictError: it waits, or its search has nothing yet that could be kept, or never has.
        """
        self.require_whole(number)
        if not self._queue.keep_best(number):
            raise ConflictError.of(
                "NOTHING_TO_KEEP",
                "keep_best",
                f"jobs/{number}, which has nothing yet that meets the policy",
                "a job whose search has a best score",
                "Watch it until it shows one, or cancel it.",
            )
        return self.get(number)

    def delete(self, number: int) -> None:
        """Deletes an ended job with its result; its request id is free again.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: it has not ended, or it made a release, whose ledger entry names it.
        """
        with self._submitting:
            job = self.get(number)
            if not job.state.ended:
                actual = f"jobs/{number}, which is {job.state.lower()}"
                raise ConflictError.of("JOB_ACTIVE", "name", actual, "a job that has ended", "Cancel it first.")
            if job.request.kind is JobKind.RELEASE and job.result is not None:
                raise ConflictError.of(
                    "JOB_OF_RELEASE",
                    "name",
                    f"jobs/{number}, which made releases/{job.result}",
                    "a job that made no release",
                    "The ledger of releases keeps it. To take the release back, withdraw it.",
                )
            with self._workers.recording:
                with self._database.ledger() as ledger:
                    removal.delete_job(ledger, number, job.request.kind)
                self._queue.forget(number)
        with at_hand(number):
            logger.info("jobs/%d deleted", number)

    def close(self, grace_seconds: float) -> bool:
        """Takes no more jobs, ends queued and running ones as interrupted, and returns whether the workers ended."""
        deadline = time.monotonic() + grace_seconds
        # A running submission may finish first: otherwise it would queue a job that the next start has to end.
        let_through = self._submitting.acquire(timeout=grace_seconds)
        queued = self._queue.close()
        if let_through:
            self._submitting.release()
        for active in queued:
            self._workers.end(active, None)
        published = self._publishing.close(deadline - time.monotonic())
        checked = self._checksums.close(deadline - time.monotonic())
        expired = self._expiry.close(deadline - time.monotonic())
        return self._workers.join(deadline - time.monotonic()) and let_through and published and checked and expired

    def follow(self, look: Callable[[], None]) -> None:
        """Calls `look` after each release from now on."""
        self._followers.append(look)

    def _after_release(self) -> None:
        for follower in self._followers:
            follower()


def open_jobs(
    database: Database,
    settings: JobSettings = DEFAULT_SETTINGS,
    *,
    observer: Observer | None = None,
    publishing: Publishing | None = None,
    policy_of: PolicyOf | None = None,
) -> JobManager:
    """Settles what an earlier process left, and takes jobs; see `JobManager`."""
    settle(database)
    return JobManager(database, settings, observer, publishing, policy_of)


def settle(database: Database) -> None:
    """Migrates the state, completes or drops what is half-published, and ends the jobs of an earlier process.

    Raises:
        ConflictError: the state is of a newer version.
    """
    with database.ledger() as ledger:
        migrate(ledger)
        notice_older_ledger(database.path, ledger)
        for warehouse in database.warehouses:
            recover(database, warehouse)
        for number in jobs.unfinished(ledger):
            jobs.insert_outcome(ledger, number, interrupted())
