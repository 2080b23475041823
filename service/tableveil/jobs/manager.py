"""The manager of jobs: takes requests, runs them on worker threads, answers what became of them."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from tableveil.backend import Database, Session
from tableveil.counting.memory import memory_limit
from tableveil.errors import (
    BusyError,
    CancelledError,
    ConflictError,
    Fault,
    InternalError,
    InvalidError,
    NotFoundError,
    TableveilError,
    shortened,
)
from tableveil.jobs.active import Active, check_release_free, check_table_free, check_target_free, tables_read
from tableveil.jobs.at_hand import at_hand
from tableveil.jobs.endings import failure_of, from_store, interrupted
from tableveil.jobs.memory import MemoryBudget, estimated_need
from tableveil.jobs.model import Failure, FailureKind, Job
from tableveil.jobs.read import check_request, check_rows
from tableveil.jobs.recorder import Recorder
from tableveil.jobs.releases import Releases, require_current
from tableveil.jobs.report import Report
from tableveil.jobs.work import Work
from tableveil.operate import check_free_space
from tableveil.policy import Policy, TableReference
from tableveil.release import withdraw
from tableveil.search import Control
from tableveil.state import jobs as store
from tableveil.state import removal
from tableveil.state.jobs import JobKind, JobState, Outcome, Request
from tableveil.state.migrate import migrate

logger = logging.getLogger("tableveil.jobs")

SECONDS_BETWEEN_LOOKS = 0.25
"""How often a watcher looks how far the search is, and whether its client is still there. A search reports more often
than that: who woke every watcher each time would slow down all other calls."""


class JobManager:
    """Runs jobs in their order, up to `concurrent_jobs` at once and as many as fit into memory.

    May be used from any thread.
    """

    def __init__(
        self, database: Database, concurrent_jobs: int = 2, queue_limit: int = 100, memory: int | None = None
    ) -> None:
        """Brings the state up to date, ends what an earlier process left unfinished, and starts the workers.

        Running jobs share `memory` bytes, None for the database's memory limit.
        """
        self._database = database
        self._queue_limit = queue_limit
        self._active: dict[int, Active] = {}
        self._queue: deque[int] = deque()
        # Guards the two above and the budget below; notified whenever a job starts, ends, or is in another phase.
        self._changed = threading.Condition()
        # Submissions check against each other's targets and request ids, one at a time.
        self._submitting = threading.Lock()
        self._closing = False
        with database.session() as session:
            migrate(session)
            for number in store.unfinished(session):
                store.insert_outcome(session, number, interrupted(session))
            self._memory = MemoryBudget(memory or memory_limit(session), concurrent_jobs)
        self._workers = [
            threading.Thread(target=self._work, name=f"tableveil-worker-{i}") for i in range(concurrent_jobs)
        ]
        for worker in self._workers:
            worker.start()

    def check(self, policy: Policy, *, rows: bool = True) -> list[Fault]:
        """Everything that would keep a job with this policy from searching.

        Without `rows`, what shows without reading the source's rows; the policy need not be valid by itself then.
        """
        with self._database.session() as session:
            if not rows:
                return check_request(session, policy)[2]
            session.control = Control()
            try:
                check_rows(session, policy, Report())
            except TableveilError as error:
                if isinstance(error, (BusyError, InternalError)):
                    raise
                return list(error.faults)
        return []

    def submit(self, work: Work, *, again: bool = False) -> Job:
        """Queues a job; with a request id that is known, returns the job it named, unless doing it again may help.

        What can be checked without reading the source's rows is checked now. With `again` there is a new job in any
        case, and the request id names that from now on.

        Raises:
            InvalidError: the policy does not fit the database, or repeats a release without a reason.
            ConflictError: the target exists or another job writes it, or the request id named another policy.
            BusyError: the queue or the disk is full, or the server is stopping.
        """
        digest = _digest(work.document)
        with self._submitting, self._database.session() as session:
            if not again and (known := self._known(session, work, digest)) is not None:
                return known
            self._check_room()
            check_free_space(self._database.path.parent, "database file system")
            source, target = work.admit(session), work.target
            if target is not None:
                with self._changed:
                    check_target_free(self._active.values(), target)
            request = Request(
                store.next_number(session),
                work.request_id,
                work.document,
                digest,
                source,
                target.schema if target else "",
                target.name if target else "",
                store.now(session),
                work.kind,
                work.options,
            )
            reads = tables_read(session, work, source)
            need = estimated_need(session, reads)
            store.insert_request(session, request)
            with self._changed:
                self._active[request.number] = Active(Job(request, JobState.QUEUED), work, reads, need)
                self._queue.append(request.number)
                self._changed.notify_all()
        with at_hand(request.number):
            logger.info("jobs/%d queued", request.number)
        return self.get(request.number)

    def get(self, number: int) -> Job:
        """The job as it stands; `NotFoundError` if there is none."""
        with self._changed:
            if number in self._active:
                return self._view(number)
        with self._database.session() as session:
            stored = store.find(session, number)
        if stored is None:
            raise NotFoundError.of("JOB_NOT_FOUND", "name", f"jobs/{number}", "an existing job")
        return from_store(stored)

    def page(self, before: int | None, size: int) -> list[Job]:
        """The next `size` jobs with numbers below `before`, newest first."""
        with self._database.session() as session:
            stored = store.page(session, before, size)
        with self._changed:
            return [
                self._view(s.request.number) if s.request.number in self._active and not s.outcome else from_store(s)
                for s in stored
            ]

    def cancel(self, number: int) -> Job:
        """Asks a job to stop. A job that has ended, or whose release is being committed, stays as it is."""
        with self._changed:
            active = self._active.get(number)
            if active is not None:
                active.control.cancel()
            queued = number in self._queue
            if queued:
                self._queue.remove(number)
        if active is not None and queued:
            with at_hand(number):
                self._end(active, Failure.of(CancelledError("CANCELLED", "the job was cancelled before it started")))
        return self.get(number)

    def delete(self, number: int) -> None:
        """Deletes an ended job with what it found; its request id is free again.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: it has not ended, or it made a release, whose ledger entry names it.
        """
        with self._submitting:
            job = self.get(number)
            if not job.state.ended:
                found = f"jobs/{number}, which is {job.state.lower()}"
                raise ConflictError.of("JOB_ACTIVE", "name", found, "a job that has ended", "Cancel it first.")
            if job.request.kind is JobKind.RELEASE and job.result is not None:
                raise ConflictError.of(
                    "JOB_OF_RELEASE",
                    "name",
                    f"jobs/{number}, which made releases/{job.result}",
                    "a job that made no release",
                    "The ledger of releases keeps it. To take the release back, withdraw it.",
                )
            with self._database.session() as session:
                removal.delete_job(session, number, job.request.kind)
            with self._changed:
                self._active.pop(number, None)
        with at_hand(number):
            logger.info("jobs/%d deleted", number)

    def withdraw(self, number: int, reason: str) -> None:
        """Drops the objects of a release that is current, and notes why in the ledger; once withdrawn, does nothing.

        Raises:
            InvalidError: there is no reason.
            NotFoundError: there is no such release.
            ConflictError: it was replaced, a job or a view reads it, or a job is about to replace it.
        """
        if not reason.strip():
            raise InvalidError.of("REASON_MISSING", "reason", "none", "why the release is withdrawn, for the ledger")
        with self._submitting:
            release = Releases(self._database).get(number)
            if release.withdrawal is not None:
                return
            require_current(release)
            with self._changed:
                check_release_free(self._active.values(), release)
            withdraw(self._database, release, reason)
        logger.info("releases/%d withdrawn", number)

    def watch(self, number: int, stopped: Callable[[], bool]) -> Iterator[Job]:
        """The job as it is and after each change, until it has ended or `stopped` says so."""
        last: Job | None = None
        while not stopped():
            job = self.get(number)
            if job != last:
                last = job
                yield job
            if job.state.ended:
                return
            with self._changed:
                self._changed.wait_for(partial(self._moved, job), SECONDS_BETWEEN_LOOKS)

    def at_work(self) -> set[int]:
        """Numbers of the queued and running jobs."""
        with self._changed:
            return set(self._active)

    def check_unread(self, table: TableReference) -> None:
        """Raises `ConflictError` if a queued or running job reads the table."""
        with self._changed:
            check_table_free(self._active.values(), table)

    @contextmanager
    def unread(self, table: TableReference) -> Iterator[None]:
        """While the block runs, no job is submitted; raises `ConflictError` if an unfinished one reads the table."""
        with self._submitting:
            self.check_unread(table)
            yield

    def close(self, grace_seconds: float) -> None:
        """Takes no more jobs, ends queued and running ones as interrupted, and waits for the workers."""
        # A submission under way is let through first: it would queue a job that nobody ends.
        with self._submitting, self._changed:
            self._closing = True
            queued = [self._active[number] for number in self._queue]
            self._queue.clear()
            for active in self._active.values():
                active.control.cancel()
            self._changed.notify_all()
        for active in queued:
            with at_hand(active.job.number):
                self._end(active, None)
        deadline = time.monotonic() + grace_seconds
        for worker in self._workers:
            worker.join(max(0.0, deadline - time.monotonic()))

    def _known(self, session: Session, work: Work, digest: str) -> Job | None:
        """The job that the request id names, if asking for it again is no reason to do it again."""
        if not work.request_id or not (known := store.find_request(session, work.request_id, work.kind)):
            return None
        if (known.digest, known.options) != (digest, work.options):
            raise ConflictError.of(
                "REQUEST_ID_REUSED",
                "request_id",
                f"{shortened(work.request_id)}, which named another policy as jobs/{known.number}",
                "a request id of its own for every policy",
            )
        job = self.get(known.number)
        return None if job.failure is not None and job.failure.may_pass else job

    def _check_room(self) -> None:
        with self._changed:
            if self._closing:
                raise BusyError("STOPPING", "the server is stopping and takes no more jobs")
            if len(self._queue) >= self._queue_limit:
                raise BusyError.of(
                    "QUEUE_FULL",
                    "queue",
                    f"{len(self._queue)} jobs waiting",
                    f"fewer than {self._queue_limit}",
                    "Submit again when some have ended.",
                )

    def _view(self, number: int) -> Job:
        job = self._active[number].job
        return replace(job, queue_position=self._queue.index(number)) if number in self._queue else job

    def _moved(self, job: Job) -> bool:
        """Whether a job has started, ended, or gone on to another phase since it was like that."""
        active = self._active.get(job.number)
        return active is None or (active.job.state, active.job.phase) != (job.state, job.phase)

    def _work(self) -> None:
        while (active := self._next()) is not None:
            with at_hand(active.job.number):
                failure = self._run(active)
                if not self._queued_again(active, failure):
                    self._end(active, failure)

    def _next(self) -> Active | None:
        """Waits for the first job of the queue, and until there is memory for it; None once the server is stopping.

        Later ones that need less wait behind it, or it might wait for ever.
        """
        with self._changed:
            while not self._closing:
                if self._queue and self._memory.fits(self._active[self._queue[0]].need):
                    active = self._active[self._queue.popleft()]
                    active.granted = self._memory.grant(active.job.number, active.need)
                    self._changed.notify_all()
                    return active
                self._changed.wait()
        return None

    def _run(self, active: Active) -> Failure | None:
        """Runs a job to its end and returns why it failed, or None."""
        number = active.job.number
        logger.info("jobs/%d started", number)
        try:
            # Progress is written by a session of its own: the job's may be in the middle of a transaction.
            with self._database.session() as session, self._database.session() as journal:
                session.control, session.memory = active.control, active.granted
                recorder = Recorder(journal, number, partial(self._change, active))
                active.control.raise_if_cancelled()
                active.work.run(self._database, session, number, Report(recorder.phase, recorder.progress))
        except Exception as error:
            return failure_of(error, number)
        finally:
            with self._changed:
                self._memory.release(number)
                self._changed.notify_all()
        return None

    def _queued_again(self, active: Active, failure: Failure | None) -> bool:
        """Puts a job first in the queue if it found no memory beside others: it is run once more, by itself."""
        if failure is None or failure.code != "OUT_OF_MEMORY" or active.granted == self._memory.total:
            return False
        with self._changed:
            if self._closing:
                return False
            active.need = self._memory.total
            active.job = Job(active.job.request, JobState.QUEUED)
            self._queue.appendleft(active.job.number)
            self._changed.notify_all()
        logger.warning("jobs/%d found no memory beside others and is run again by itself", active.job.number)
        return True

    def _change(self, active: Active, **changes: object) -> None:
        with self._changed:
            active.job = replace(active.job, **changes)  # type: ignore[arg-type]
            # Progress is looked at by who wants to know of it.
            if changes.keys() != {"progress"}:
                self._changed.notify_all()

    def _end(self, active: Active, failure: Failure | None) -> None:
        """Records how a job ended, unless its release has, and forgets it here.

        If the database cannot record it, the job stays here as failed: its watchers must end, and the worker go on.
        """
        number = active.job.number
        try:
            self._record(number, failure)
        except TableveilError as error:
            logger.error("jobs/%d ended, but that could not be recorded: %s", number, error.code)
            self._change(active, state=JobState.FAILED, failure=failure or Failure.of(error))
            return
        with self._changed:
            del self._active[number]
            self._changed.notify_all()

    def _record(self, number: int, failure: Failure | None) -> None:
        with self._database.session() as session:
            stored = store.find(session, number)
            if stored is None or stored.outcome is not None:
                logger.info("jobs/%d succeeded", number)
                return
            outcome = self._outcome(session, failure)
            store.insert_outcome(session, number, outcome)
            logger.info("jobs/%d %s%s", number, outcome.state.lower(), f" ({failure.code})" if failure else "")

    def _outcome(self, session: Session, failure: Failure | None) -> Outcome:
        if failure is None or (failure.kind is FailureKind.CANCELLED and self._closing):
            return interrupted(session)
        state = JobState.CANCELLED if failure.kind is FailureKind.CANCELLED else JobState.FAILED
        return Outcome(state, store.now(session), None, failure.to_json())


def _digest(document: str) -> str:
    """Identifies what a policy asks for, whatever request id it came with."""
    content = json.loads(document)
    content.pop("request_id", None)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
