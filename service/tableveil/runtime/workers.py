"""The workers: threads that run the jobs of a queue, and record how each ended."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from tableveil.backend import Database, seeing
from tableveil.control.current_job import at_hand
from tableveil.errors import TableveilError
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.pipelines.work import JobContext, JobReport
from tableveil.runtime.active import Active, no_step
from tableveil.runtime.memory import check_room
from tableveil.runtime.model import Failure, FailureKind, Observer
from tableveil.runtime.queue import JobQueue, JobSettings
from tableveil.runtime.recorder import JobRecorder, failure_of, interrupted
from tableveil.runtime.uses import check_permitted
from tableveil.state import jobs as store
from tableveil.state.jobs import JobKind, JobPhase, JobState, Outcome
from tableveil.state.release_objects import released_rows

logger = logging.getLogger("tableveil.jobs")


class Workers:
    """The threads of the settings, until the queue is closed.

    `released` is called after each release. Hold the lock `recording` to delete a job: one that was shown as failed may
    be recorded only later.
    """

    def __init__(
        self,
        database: Database,
        queue: JobQueue,
        settings: JobSettings,
        observer: Observer,
        released: Callable[[], None] = lambda: None,
        policy_of: PolicyOf | None = None,
    ) -> None:
        self._database = database
        self._queue = queue
        self._observer = observer
        self._approval = frozenset(settings.approval)
        self._unrecorded: deque[tuple[Active, Failure | None]] = deque()
        self.recording = threading.Lock()
        self._released, self._policy_of = released, policy_of
        self._threads = [
            threading.Thread(target=self._work, name=f"tableveil-worker-{i}") for i in range(settings.concurrent_jobs)
        ]
        for thread in self._threads:
            thread.start()

    def join(self, seconds: float) -> bool:
        """Waits so long at most for the threads to end, and returns whether they have; the queue is closed."""
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._end_unrecorded()
        return not any(thread.is_alive() for thread in self._threads)

    def end(self, active: Active, failure: Failure | None) -> None:
        """Records how a job ended, unless its release has, and forgets it in the queue.

        If the database cannot record it, the job stays there as failed: its watchers must end, and the worker go on.
        It is tried again once another job has ended, which may have held the memory, and when the server stops.
        """
        self._end(active, failure)
        self._end_unrecorded()

    def _end_unrecorded(self) -> None:
        for _ in range(len(self._unrecorded)):
            # Another worker may take it first, and a job that was shown as failed may have been deleted.
            with suppress(IndexError), self.recording:
                active, failure = self._unrecorded.popleft()
                if self._queue.views([active.job.number]):
                    self._end(active, failure)

    def _end(self, active: Active, failure: Failure | None) -> None:
        number = active.job.number
        with at_hand(number):
            try:
                released = self._record(active, failure)
            except TableveilError as error:
                logger.error("jobs/%d ended, but that could not be recorded: %s", number, error.code)
                self._queue.change(active, state=JobState.FAILED, failure=failure or Failure.of(error))
                self._unrecorded.append((active, failure))
                return
            self._queue.forget(number)
            # Nobody waits for what follows a release.
            if released:
                self._released()

    def _work(self) -> None:
        while (active := self._queue.take()) is not None:
            with at_hand(active.job.number):
                failure = self._run(active)
                if failure is not None and failure.code == "OUT_OF_MEMORY" and self._queue.put_back(active):
                    message = "jobs/%d found no memory beside others and is run again by itself"
                    logger.warning(message, active.job.number)
                else:
                    self.end(active, failure)

    def _run(self, active: Active) -> Failure | None:
        """Runs a job to its end and returns the reason of its failure, or None."""
        number = active.job.number
        logger.info("jobs/%d started", number)
        self._observer.job_started(max(0.0, (store.now() - active.job.request.submitted_at).total_seconds()))
        report = JobReport()
        try:
            # Progress is written by a session of its own: the job's may be in the middle of a transaction.
            with seeing(active.visibility), self._database.session() as session, self._database.ledger() as journal:
                session.control, session.memory = active.control, active.granted
                session.measure_steps()
                active.step = lambda: session.step
                recorder = JobRecorder(journal, number, partial(self._queue.change, active))
                active.control.raise_if_cancelled()
                # It may have waited for long.
                check_permitted(active.visibility, active.owned, active.work.target)
                check_room(self._database, session, active.work, active.job.request.source)

                def phase(begun: JobPhase) -> None:
                    # Also before anything is written, and before that is committed.
                    check_permitted(active.visibility, active.owned, active.work.target)
                    recorder.phase(begun)

                report.on_phase, report.on_progress = phase, recorder.progress
                document, warehouse = active.work.document, active.work.warehouse
                given = (number, document, self._database, session, active.control, report, self._approval)
                context = JobContext(*given, policy_of=self._policy_of)
                with self._database.rows_session(session, warehouse) as elsewhere:
                    elsewhere.control = active.control
                    active.work.run(replace(context, elsewhere=elsewhere) if warehouse else context)
        except Exception as error:
            return failure_of(error, f"jobs/{number}")
        finally:
            active.phases, active.step = report.seconds(), no_step
            self._queue.free(active)
        return None

    def _record(self, active: Active, failure: Failure | None) -> bool:
        """Records how a job ended, unless its release has; returns whether there is one."""
        number, kind = active.job.number, active.work.kind
        with self._database.ledger() as ledger:
            rows = released_rows(ledger, number)
            if rows is not None:
                logger.info("jobs/%d succeeded", number)
                self._observer.job_ended(kind, JobState.SUCCEEDED, active.phases, rows)
                return kind is JobKind.RELEASE
            outcome = self._outcome(failure)
            store.insert_outcome(ledger, number, outcome)
            logger.info("jobs/%d %s%s", number, outcome.state.lower(), f" ({failure.code})" if failure else "")
            self._observer.job_ended(kind, outcome.state, active.phases, 0)
        return False

    def _outcome(self, failure: Failure | None) -> Outcome:
        if failure is None or (failure.kind is FailureKind.CANCELLED and self._queue.closed):
            return interrupted()
        state = JobState.CANCELLED if failure.kind is FailureKind.CANCELLED else JobState.FAILED
        return Outcome(state, store.now(), None, failure.to_json())
