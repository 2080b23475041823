"""Turns the reports of a running job into events in the store and changes of the job, up to its end."""

import bisect
import logging
import time
import traceback
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Protocol

from tableveil.backend import Ledger
from tableveil.control import Progress, Stopped
from tableveil.errors import BusyError, CancelledError, InternalError, TableveilError
from tableveil.runtime.model import Failure, FailureKind, Job, JobProgress
from tableveil.state import jobs as store
from tableveil.state import joint_texts
from tableveil.state.jobs import Event, JobPhase, JobState, Outcome, StoredJob
from tableveil.state.releases import seen_among

LEAST_SECONDS = 5.0
"""The shortest search that has a last tenth."""

SHARE = 0.1


class RecentGain:
    """The scores that one search had, and when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: list[float] = []
        self._scores: list[float] = []

    def now(self, score: float | None) -> float | None:
        """By which share of itself the best score fell in the last tenth of the time since there was one.

        `score` is the best now. None while that is too short a time.
        """
        if score is None:
            return None
        at = self._clock()
        # A search of another kind that comes first may minimize something else.
        if not self._scores or score > self._scores[-1]:
            self._times, self._scores = [at], [score]
        elif score < self._scores[-1]:
            self._times.append(at)
            self._scores.append(score)
        elapsed = at - self._times[0]
        if elapsed < LEAST_SECONDS:
            return None
        before = self._scores[bisect.bisect(self._times, at - SHARE * elapsed) - 1]
        return (before - score) / before if before > 0 else 0.0


SECONDS_BETWEEN_STORED_PROGRESS = 1.0


class StateChange(Protocol):
    """See `__call__`."""

    def __call__(self, **changes: object) -> None:
        """Replaces fields of the job."""
        ...


class JobRecorder:
    """Records the reports of one job. The session is its own: the job's may be in the middle of a transaction."""

    def __init__(self, ledger: Ledger, number: int, change: StateChange) -> None:
        self._ledger = ledger
        self._number = number
        self._change = change
        self._phase = JobPhase.READING
        self._stored_at = 0.0
        self._gain = RecentGain()

    def phase(self, phase: JobPhase) -> None:
        """A phase begins; reading is the first."""
        self._phase = phase
        event = Event(store.now(), phase)
        store.insert_event(self._ledger, self._number, event)
        if phase is JobPhase.READING:
            self._change(state=store.JobState.RUNNING, phase=phase, started_at=event.at)
        else:
            self._change(phase=phase)

    def progress(self, progress: Progress) -> None:
        """The search reports its progress."""
        read_progress = JobProgress(
            progress.checked,
            str(progress.lattice_size),
            progress.best_score,
            progress.lower_bound,
            progress.suppressed_share,
            progress.of_records,
            self._gain.now(progress.best_score),
        )
        self._change(progress=read_progress)
        if time.monotonic() - self._stored_at < SECONDS_BETWEEN_STORED_PROGRESS:
            return
        self._stored_at = time.monotonic()
        event = Event(
            store.now(),
            self._phase,
            read_progress.checked,
            read_progress.lattice_size,
            read_progress.best_score,
            read_progress.lower_bound,
            read_progress.suppressed_share,
            read_progress.of_records,
        )
        store.insert_event(self._ledger, self._number, event)


logger = logging.getLogger("tableveil.jobs")


def failure_of(error: Exception, what: str) -> Failure:
    """The reason why a job, or something else with that name, failed, if running it raised `error`."""
    match error:
        case Stopped():
            return Failure.of(CancelledError("CANCELLED", "the job was cancelled"))
        case TableveilError():
            return Failure.of(error)
        case MemoryError():
            return Failure.of(
                BusyError.of(
                    "OUT_OF_MEMORY",
                    "memory",
                    "arrays that do not fit beside what else the machine runs",
                    "enough memory",
                    "Let fewer jobs run at once (--concurrent-jobs), or give the server a larger machine.",
                )
            )
    # The text of an unexpected exception may hold raw values: only its type and place are logged.
    place = " < ".join(f"{f.name}:{f.lineno}" for f in reversed(traceback.extract_tb(error.__traceback__)))
    logger.error("%s failed: %s at %s", what, type(error).__name__, place)
    return Failure.of(InternalError("INTERNAL", f"an unexpected {type(error).__name__}; see the server's log"))


def interrupted() -> Outcome:
    """The outcome of a job that the server did not live to end."""
    failure = Failure(
        FailureKind.CANCELLED,
        "INTERRUPTED",
        "the server stopped before the job ended; nothing was written: submit it again",
    )
    return Outcome(JobState.INTERRUPTED, store.now(), None, failure.to_json())


def from_store(stored: StoredJob) -> Job:
    """A job that does not run here, in the form for clients."""
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


def told_jobs(ledger: Ledger, jobs: Collection[Job]) -> Iterator[Job]:
    """The jobs without the texts that depend on releases of which the ledger's reader may not see all."""
    named = {number for job in jobs if job.failure is not None for number in job.failure.releases}
    unseen = named - seen_among(ledger, named) if named else set()
    hidden = joint_texts.hidden(ledger, [job.number for job in jobs if job.warnings and job.state.ended])
    for job in jobs:
        job_shown, failure = job, job.failure
        if failure is not None and not unseen.isdisjoint(failure.releases):
            job_shown = replace(job_shown, failure=failure.without_texts())
        if job.number in hidden:
            job_shown = replace(job_shown, warnings=joint_texts.shown(job.warnings, hidden[job.number]))
        yield job_shown
