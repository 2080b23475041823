"""The ends of jobs: after an exception, after a stop of the server, and for jobs in the store."""

import logging
import traceback
from collections.abc import Collection, Iterator
from dataclasses import replace

from tableveil.backend import Ledger
from tableveil.control import Stopped
from tableveil.errors import BusyError, CancelledError, InternalError, TableveilError
from tableveil.runtime.model import Failure, FailureKind, Job, JobProgress
from tableveil.state import jobs as store
from tableveil.state import joint_texts
from tableveil.state.jobs import JobState, Outcome, StoredJob
from tableveil.state.releases import seen_among

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
