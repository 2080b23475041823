"""The queue of jobs: the next one, and the state of those that have not ended."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from tableveil.errors import BusyError
from tableveil.runtime.active import Active
from tableveil.runtime.memory import MemoryBudget
from tableveil.runtime.model import Job
from tableveil.state.jobs import JobState


class JobQueue:
    """Up to `limit` queued jobs, and the running ones, which share `memory`. May be used from any thread."""

    def __init__(self, limit: int, memory: MemoryBudget) -> None:
        self._limit = limit
        self._memory = memory
        self._active: dict[int, Active] = {}
        self._queued: deque[int] = deque()
        self._closed = False
        # Guards all of the above; notified when a job comes, starts, ends, or changes its phase.
        self._changed = threading.Condition()

    @property
    def closed(self) -> bool:
        """Whether no job is started any more."""
        return self._closed

    def check_room(self) -> None:
        """Raises `BusyError` if no job can be added."""
        with self._changed:
            if self._closed:
                raise BusyError("STOPPING", "the server is stopping and takes no more jobs")
            if len(self._queued) >= self._limit:
                raise BusyError.of(
                    "QUEUE_FULL",
                    "queue",
                    f"{len(self._queued)} jobs waiting",
                    f"fewer than {self._limit}",
                    "Submit again when some have ended.",
                )

    def add(self, active: Active) -> None:
        """Queues a job behind all others."""
        with self._changed:
            self._active[active.job.number] = active
            self._queued.append(active.job.number)
            self._changed.notify_all()

    def active(self) -> list[Active]:
        """The queued and running jobs, and those that ended without a record of it."""
        with self._changed:
            return list(self._active.values())

    def views(self, numbers: Iterable[int]) -> dict[int, Job]:
        """The jobs among these that are in the queue, in their state at one moment."""
        with self._changed:
            return {number: self._view(number) for number in numbers if number in self._active}

    def take(self) -> Active | None:
        """Waits for the first job of the queue, and until there is memory for it; None once the queue is closed.

        Later ones that need less wait behind it, or it might wait for ever.
        """
        with self._changed:
            while not self._closed:
                if self._queued and self._memory.fits(self._active[self._queued[0]].need):
                    active = self._active[self._queued.popleft()]
                    active.granted = self._memory.grant(active.job.number, active.need)
                    self._changed.notify_all()
                    return active
                self._changed.wait()
        return None

    def free(self, active: Active) -> None:
        """Gives back the memory of a job that runs no more."""
        with self._changed:
            self._memory.release(active.job.number)
            self._changed.notify_all()

    def put_back(self, active: Active) -> bool:
        """Queues a job that ran beside others before all others, to run alone; False if it ran alone, or if closed."""
        with self._changed:
            if self._closed or active.granted == self._memory.total:
                return False
            active.need = self._memory.total
            active.job = Job(active.job.request, JobState.QUEUED)
            self._queued.appendleft(active.job.number)
            self._changed.notify_all()
        return True

    def change(self, active: Active, **changes: object) -> None:
        """Replaces fields of the job."""
        with self._changed:
            active.job = replace(active.job, **changes)  # type: ignore[arg-type]
            # Watchers look at the progress themselves.
            if changes.keys() != {"progress"}:
                self._changed.notify_all()

    def cancel(self, number: int) -> Active | None:
        """Asks a job to stop, and returns it if it was still queued: then the caller has to end it."""
        with self._changed:
            active = self._active.get(number)
            if active is None:
                return None
            active.control.cancel()
            if number not in self._queued:
                return None
            self._queued.remove(number)
            return active

    def forget(self, number: int) -> None:
        """Drops a job that has ended, if it is here."""
        with self._changed:
            self._active.pop(number, None)
            self._changed.notify_all()

    def wait(self, job: Job, seconds: float) -> None:
        """Returns once a job has started, ended, or changed its phase since `job`, or when the time is over."""
        with self._changed:
            self._changed.wait_for(partial(self._moved, job), seconds)

    def close(self) -> list[Active]:
        """Starts no more jobs, asks running ones to stop, and returns the queued ones, which the caller has to end."""
        with self._changed:
            self._closed = True
            queued = [self._active[number] for number in self._queued]
            self._queued.clear()
            for active in self._active.values():
                active.control.cancel()
            self._changed.notify_all()
        return queued

    def _view(self, number: int) -> Job:
        job = self._active[number].job
        return replace(job, queue_position=self._queued.index(number)) if number in self._queued else job

    def _moved(self, job: Job) -> bool:
        active = self._active.get(job.number)
        return active is None or (active.job.state, active.job.phase) != (job.state, job.phase)
