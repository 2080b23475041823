"""Turns the reports of a running job into events in the store and changes of the job."""

import time
from typing import Protocol

from tableveil.backend import Ledger
from tableveil.control import Progress
from tableveil.runtime.model import JobProgress
from tableveil.runtime.recent_gain import RecentGain
from tableveil.state import jobs as store
from tableveil.state.jobs import Event, JobPhase

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
