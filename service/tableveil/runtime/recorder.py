"""Turns the reports of a running job into events in the store and changes of the job."""

import bisect
import time
from collections.abc import Callable
from typing import Protocol

from tableveil.backend import Ledger
from tableveil.control import Progress
from tableveil.runtime.model import JobProgress
from tableveil.state import jobs as store
from tableveil.state.jobs import Event, JobPhase

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
