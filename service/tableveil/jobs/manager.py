"""The manager of jobs: takes requests, runs them on worker threads, answers what became of them."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tableveil.backend import Database, Session
from tableveil.errors import (
    BusyError,
    CancelledError,
    ConflictError,
    Fault,
    InternalError,
    NotFoundError,
    TableveilError,
    shortened,
)
from tableveil.jobs.model import Failure, FailureKind, Job, JobProgress
from tableveil.jobs.read import check_request, check_rows
from tableveil.jobs.report import Report
from tableveil.jobs.work import Work
from tableveil.policy import Policy, ReleaseTarget
from tableveil.search import Control, Progress, Stopped
from tableveil.state import jobs as store
from tableveil.state.jobs import Event, JobPhase, JobState, Outcome, Request, StoredJob
from tableveil.state.migrate import migrate

logger = logging.getLogger("tableveil.jobs")

SECONDS_BETWEEN_LOOKS = 0.25
"""How often a watcher looks whether its client is still there."""

SECONDS_BETWEEN_STORED_PROGRESS = 1.0


@dataclass(slots=True)
class _Active:
    """A queued or running job."""

    job: Job
    work: Work
    control: Control = field(default_factory=Control)


class JobManager:
    """Runs jobs one after another on each of `concurrent_jobs` threads. May be used from any thread."""

    def __init__(self, database: Database, concurrent_jobs: int = 2, queue_limit: int = 100) -> None:
        """Brings the state up to date, ends what an earlier process left unfinished, and starts the workers."""
        self._database = database
        self._queue_limit = queue_limit
        self._active: dict[int, _Active] = {}
        self._queue: deque[int] = deque()
        # Guards the two above; notified whenever a job changes.
        self._changed = threading.Condition()
        # Submissions check against each other's targets and request ids, one at a time.
        self._submitting = threading.Lock()
        self._closing = False
        with database.session() as session:
            migrate(session)
            for number in store.unfinished(session):
                store.insert_outcome(session, number, _interrupted(session))
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

    def submit(self, work: Work) -> Job:
        """Queues a job; with a request id that is known, returns the job it named, unless that was interrupted.

        What can be checked without reading the source's rows is checked now.

        Raises:
            InvalidError: the policy does not fit the database, or repeats a release without a reason.
            ConflictError: the target exists or another job writes it, or the request id named another policy.
            BusyError: the queue is full, or the server is stopping.
        """
        digest = _digest(work.document)
        with self._submitting, self._database.session() as session:
            if work.request_id and (known := store.find_request(session, work.request_id, work.kind)):
                if (known.digest, known.options) != (digest, work.options):
                    raise ConflictError.of(
                        "REQUEST_ID_REUSED",
                        "request_id",
                        f"{shortened(work.request_id)}, which named another policy as jobs/{known.number}",
                        "a request id of its own for every policy",
                    )
                job = self.get(known.number)
                # Nothing came of an interrupted job: whoever asks again wants it done.
                if job.state is not JobState.INTERRUPTED:
                    return job
            self._check_room()
            source, target = work.admit(session), work.target
            if target is not None:
                self._check_target_free(target)
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
            store.insert_request(session, request)
            with self._changed:
                self._active[request.number] = _Active(Job(request, JobState.QUEUED), work)
                self._queue.append(request.number)
                self._changed.notify_all()
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
        return _from_store(stored)

    def page(self, before: int | None, size: int) -> list[Job]:
        """The next `size` jobs with numbers below `before`, newest first."""
        with self._database.session() as session:
            stored = store.page(session, before, size)
        with self._changed:
            return [
                self._view(s.request.number) if s.request.number in self._active and not s.outcome else _from_store(s)
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
            self._end(active, Failure.of(CancelledError("CANCELLED", "the job was cancelled before it started")))
        return self.get(number)

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
                if number in self._active and self._view(number) == last:
                    self._changed.wait(SECONDS_BETWEEN_LOOKS)

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
            self._end(active, None)
        deadline = time.monotonic() + grace_seconds
        for worker in self._workers:
            worker.join(max(0.0, deadline - time.monotonic()))

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

    def _check_target_free(self, target: ReleaseTarget) -> None:
        wanted = {name.casefold() for name in target.object_names}
        with self._changed:
            for active in self._active.values():
                other = active.work.target
                if active.job.state.ended or other is None:
                    continue
                same_schema = other.schema.casefold() == target.schema.casefold()
                if same_schema and wanted & {name.casefold() for name in other.object_names}:
                    raise ConflictError.of(
                        "TARGET_IN_USE",
                        "release.name",
                        f"{shortened(target.name)}, which jobs/{active.job.number} is about to write",
                        "a target that no other job writes",
                        "Wait until that job has ended, or choose another name.",
                    )

    def _view(self, number: int) -> Job:
        job = self._active[number].job
        return replace(job, queue_position=self._queue.index(number)) if number in self._queue else job

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closing:
                    self._changed.wait()
                if self._closing:
                    return
                active = self._active[self._queue.popleft()]
                self._changed.notify_all()
            self._end(active, self._run(active))

    def _run(self, active: _Active) -> Failure | None:
        """Runs a job to its end and returns why it failed, or None."""
        number = active.job.number
        logger.info("jobs/%d started", number)
        try:
            # Progress is written by a session of its own: the job's may be in the middle of a transaction.
            with self._database.session() as session, self._database.session() as journal:
                session.control = active.control
                recorder = _Recorder(journal, number, lambda **changes: self._change(active, **changes))
                active.control.raise_if_cancelled()
                report = Report(recorder.phase, recorder.progress)
                active.work.run(self._database, session, number, report)
        except Stopped:
            return Failure.of(CancelledError("CANCELLED", "the job was cancelled"))
        except TableveilError as error:
            return Failure.of(error)
        except Exception as error:
            # The text of an unexpected exception may hold raw values: only its type and place are logged.
            place = " < ".join(f"{f.name}:{f.lineno}" for f in reversed(traceback.extract_tb(error.__traceback__)))
            logger.error("jobs/%d failed: %s at %s", number, type(error).__name__, place)
            return Failure.of(InternalError("INTERNAL", f"an unexpected {type(error).__name__}; see the server's log"))
        return None

    def _change(self, active: _Active, **changes: object) -> None:
        with self._changed:
            active.job = replace(active.job, **changes)  # type: ignore[arg-type]
            self._changed.notify_all()

    def _end(self, active: _Active, failure: Failure | None) -> None:
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
            return _interrupted(session)
        state = JobState.CANCELLED if failure.kind is FailureKind.CANCELLED else JobState.FAILED
        return Outcome(state, store.now(session), None, failure.to_json())


class _Recorder:
    """Turns what a running job reports into events in the store and changes of the job."""

    def __init__(self, session: Session, number: int, change: Callable[..., None]) -> None:
        self._session = session
        self._number = number
        self._change = change
        self._phase = JobPhase.READING
        self._stored_at = 0.0

    def phase(self, phase: JobPhase) -> None:
        self._phase = phase
        event = Event(store.now(self._session), phase)
        store.insert_event(self._session, self._number, event)
        if phase is JobPhase.READING:
            self._change(state=JobState.RUNNING, phase=phase, started_at=event.at)
        else:
            self._change(phase=phase)

    def progress(self, progress: Progress) -> None:
        known = JobProgress(
            progress.checked,
            str(progress.lattice_size),
            progress.best_score,
            progress.lower_bound,
            progress.suppressed_share,
            progress.of_records,
        )
        self._change(progress=known)
        if time.monotonic() - self._stored_at < SECONDS_BETWEEN_STORED_PROGRESS:
            return
        self._stored_at = time.monotonic()
        event = Event(
            store.now(self._session),
            self._phase,
            known.checked,
            known.lattice_size,
            known.best_score,
            known.lower_bound,
            known.suppressed_share,
            known.of_records,
        )
        store.insert_event(self._session, self._number, event)


def _digest(document: str) -> str:
    """Identifies what a policy asks for, whatever request id it came with."""
    content = json.loads(document)
    content.pop("request_id", None)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _interrupted(session: Session) -> Outcome:
    failure = Failure(
        FailureKind.CANCELLED,
        "INTERRUPTED",
        "the server stopped before the job ended; nothing was written: submit it again",
    )
    return Outcome(JobState.INTERRUPTED, store.now(session), None, failure.to_json())


def _from_store(stored: StoredJob) -> Job:
    event, outcome = stored.last_event, stored.outcome
    progress = None
    if event is not None and event.checked is not None and event.lattice_size is not None:
        progress = JobProgress(
            event.checked,
            event.lattice_size,
            event.best_score,
            event.lower_bound,
            event.suppressed_share,
            event.of_records,
        )
    running = JobState.RUNNING if event is not None else JobState.QUEUED
    return Job(
        request=stored.request,
        state=outcome.state if outcome else running,
        phase=event.phase if event else None,
        started_at=stored.started_at,
        ended_at=outcome.at if outcome else None,
        progress=progress,
        result=outcome.result if outcome else None,
        failure=Failure.from_json(outcome.failure) if outcome and outcome.failure else None,
        warnings=outcome.warnings if outcome else (),
    )
