"""The settings of jobs, and their queue: the next one, and the state of those that have not ended."""

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from tableveil.errors import BusyError, ConflictError
from tableveil.fair_use.turns import Turns
from tableveil.pipelines.work import Work
from tableveil.runtime.active import Active
from tableveil.runtime.memory import MemoryBudget
from tableveil.runtime.model import Job, ServerLoad
from tableveil.state.jobs import KINDS, JobPhase, JobState, now


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """How many jobs may be `queued`, how many of them of one owner, and how many of an owner may run at once."""

    queued: int = 100
    queued_of_owner: int | None = None
    running_of_owner: int | None = None


class JobQueue:
    """The queued jobs, whose owners come in turn, and the running ones, which share `memory`.

    May be used from any thread.
    """

    def __init__(self, limits: QueueLimits, memory: MemoryBudget) -> None:
        self._limits = limits
        self._memory = memory
        self._active: dict[int, Active] = {}
        self._queued = Turns(limits.running_of_owner)
        self._closed = False
        # Guards all of the above; notified when a job comes, starts, ends, or changes its phase.
        self._changed = threading.Condition()

    @property
    def closed(self) -> bool:
        """Whether no job is started any more."""
        return self._closed

    def check_room(self, owner: str) -> None:
        """Raises `BusyError` if the owner can add no job."""
        with self._changed:
            if self._closed:
                raise BusyError("STOPPING", "the server is stopping and takes no more jobs")
            own, most = self._queued.of(owner), self._limits.queued_of_owner
            if most is not None and own >= most:
                actual, expected = f"{own} of your jobs waiting", f"fewer than {most}"
                raise BusyError.of("TOO_MANY_JOBS", "queue", actual, expected, "Submit again when some have ended.")
            if len(self._queued) >= self._limits.queued:
                actual, expected = f"{len(self._queued)} jobs waiting", f"fewer than {self._limits.queued}"
                raise BusyError.of("QUEUE_FULL", "queue", actual, expected, "Submit again when some have ended.")

    def add(self, active: Active) -> None:
        """Queues a job behind its owner's others."""
        with self._changed:
            self._active[active.job.number] = active
            self._queued.add(active.owner, active.job.number)
            self._changed.notify_all()

    def active(self) -> list[Active]:
        """The queued and running jobs, and those that ended without a record of it."""
        with self._changed:
            return list(self._active.values())

    def load(self) -> ServerLoad:
        """How busy it is."""
        with self._changed:
            waiting = [a.job.request.submitted_at for a in self._active.values() if a.job.number in self._queued]
            oldest = max(0.0, (now() - min(waiting)).total_seconds()) if waiting else 0.0
            return ServerLoad(len(self._queued), self._memory.holders, oldest, self._memory.granted, self._memory.total)

    def views(self, numbers: Iterable[int]) -> dict[int, Job]:
        """The jobs among these that are in the queue, in their state at one moment."""
        with self._changed:
            return {number: self._view(number) for number in numbers if number in self._active}

    def take(self) -> Active | None:
        """Waits for the next job, and until there is memory for it; None once the queue is closed.

        Later ones that need less wait behind it, or it might wait for ever.
        """
        with self._changed:
            while not self._closed:
                number = self._queued.next()
                if number is not None and self._memory.fits(self._active[number].need):
                    active = self._active[number]
                    self._queued.start(number)
                    active.granted = self._memory.grant(active.job.number, active.need)
                    self._changed.notify_all()
                    return active
                self._changed.wait()
        return None

    def free(self, active: Active) -> None:
        """Gives back the memory of a job that runs no more."""
        with self._changed:
            self._memory.release(active.job.number)
            self._queued.end(active.owner)
            self._changed.notify_all()

    def put_back(self, active: Active) -> bool:
        """Queues a job that ran beside others before all others, to run alone; False if it ran alone, or if closed."""
        with self._changed:
            if self._closed or active.granted == self._memory.total:
                return False
            active.need = self._memory.total
            active.control.begin_anew()
            active.job = Job(active.job.request, JobState.QUEUED)
            self._queued.add(active.owner, active.job.number, first=True)
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

    def keep_best(self, number: int) -> bool:
        """Asks the search of a job to end with the best that it has; False if it has none yet.

        Raises `ConflictError` if it never has any before its end.
        """
        with self._changed:
            active = self._active.get(number)
            if active is None or active.job.state.ended:
                return True
            if whole := _only_whole(active.work):
                raise ConflictError.of(
                    "NOTHING_TO_KEEP",
                    "keep_best",
                    f"jobs/{number}, a {whole}, which has nothing valid before it is done",
                    "a job that searches transformations or a frontier, or recodes locally",
                    "Wait until it has ended, or cancel it.",
                )
            if active.job.phase in (JobPhase.WRITING, JobPhase.VERIFYING):
                return True
            if not _has_best(active):
                return False
            active.control.keep_best()
            return True

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
            queued = [self._active[number] for number in self._queued.clear()]
            for active in self._active.values():
                active.control.cancel()
            self._changed.notify_all()
        return queued

    def _view(self, number: int) -> Job:
        active = self._active[number]
        if number in self._queued:
            return replace(active.job, queue_position=self._queued.position(number))
        return active.job if active.job.state.ended else replace(active.job, step=active.step())

    def _moved(self, job: Job) -> bool:
        active = self._active.get(job.number)
        return active is None or (active.job.state, active.job.phase) != (job.state, job.phase)


def _only_whole(work: Work) -> str:
    """The word for work that has no valid result on its way, or nothing."""
    policy = work.released
    if policy is None:
        return "" if work.partial else KINDS[work.kind].noun
    return "" if policy.method.interim else policy.method.name


def _has_best(active: Active) -> bool:
    """Whether the search of a job could end now."""
    progress = active.job.progress
    return progress is not None and (progress.best_score is not None or active.work.partial)


@dataclass(frozen=True, slots=True)
class JobSettings:
    """How many jobs run and wait, on which memory, and what waits for approval.

    Running jobs share `memory` bytes, None for the database's memory limit. Releases into the schemas `approval` wait
    until another person approves them.
    """

    concurrent_jobs: int = 2
    limits: QueueLimits = field(default_factory=QueueLimits)
    memory: int | None = None
    approval: Collection[str] = ()


DEFAULT_SETTINGS = JobSettings()
