"""Jobs as they stand: from the queue while they are there, then from memory, or else from the store."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from tableveil.backend import Database, Ledger, Visibility, present_visibility
from tableveil.errors import DeniedError, NotFoundError
from tableveil.runtime.model import Job, ServerLoad
from tableveil.runtime.queue import JobQueue
from tableveil.runtime.recorder import from_store, told_jobs
from tableveil.state import jobs as store
from tableveil.state.jobs import JobState

MOST = 200
"""A few pages of a list: the rest is read, and takes no memory of a server that runs for long."""
LARGEST_POLICY = 16 * 2**10
"""Characters of its policy: a job with more is not kept, so that all together take a few megabytes at most."""
MOST_FAULTS = 20
"""The most faults of its failure, to save memory, too: there may be one for every column of a wide table."""


class EndedJobs:
    """Keeps up to `MOST` jobs; the oldest are dropped first. May be used from any thread.

    They may have been deleted meanwhile, but no other job ever has their numbers.
    """

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._lock = threading.Lock()

    def known(self, numbers: Iterable[int]) -> dict[int, Job]:
        """The jobs among these that are kept here, by number."""
        with self._lock:
            return {number: self._jobs[number] for number in numbers if number in self._jobs}

    def keep(self, jobs: Iterable[Job]) -> None:
        """Keeps those of the jobs that have ended."""
        with self._lock:
            for job in jobs:
                if job.state.ended and _is_small(job):
                    self._jobs[job.number] = job
            for number in list(self._jobs)[: max(0, len(self._jobs) - MOST)]:
                del self._jobs[number]


def _is_small(job: Job) -> bool:
    faults = job.failure.faults if job.failure is not None else ()
    return len(job.request.policy) <= LARGEST_POLICY and len(faults) <= MOST_FAULTS


SECONDS_BETWEEN_LOOKS = 0.25
"""How often a watcher checks the search's progress, and whether its client is still there.

A search reports more often than that: waking every watcher each time would slow down all other calls.
"""


class JobViews:
    """Shows jobs to those who may see them. May be used from any thread."""

    def __init__(self, database: Database, queue: JobQueue) -> None:
        self._database = database
        self._queue = queue
        self._ended = EndedJobs()

    def get(self, number: int) -> Job:
        """The job as it stands; `NotFoundError` if there is none that its caller may see."""
        visibility = present_visibility()()
        active = self._queue.views([number]).get(number)
        is_seen = active is not None and (visibility.every_job or visibility.principal == active.request.owner)
        if active is not None and is_seen and not active.state.ended:
            return _seen(visibility, active)
        with self._database.ledger() as ledger:
            jobs = self._find(ledger, [number] if store.exists(ledger, number) else [])
        if number not in jobs:
            raise NotFoundError.of("JOB_NOT_FOUND", "name", f"jobs/{number}", "an existing job")
        return jobs[number]

    def require_whole(self, number: int) -> None:
        """Raises `DeniedError` if the caller sees the job without its contents; see `get` for its errors."""
        if not _is_whole(present_visibility()(), self.get(number)):
            hint = "Cancel it, or ask the one who submitted it."
            actual = f"jobs/{number}, which another principal submitted"
            raise DeniedError.of("PERMISSION_DENIED", "keep_best", actual, "a job of yours", hint)

    def page(self, before: int | None, size: int, states: Collection[JobState] = ()) -> list[Job]:
        """The next `size` jobs with numbers below `before` in one of these states, or in any; newest first."""
        with self._database.ledger() as ledger:
            numbers = store.page(ledger, before, size, states)
            jobs = self._find(ledger, numbers)
        # A job that is not found was deleted meanwhile.
        return [jobs[number] for number in numbers if number in jobs]

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
            self._queue.wait(job, SECONDS_BETWEEN_LOOKS)

    def load(self) -> ServerLoad:
        """How busy the server is."""
        return self._queue.load()

    def at_work(self) -> set[int]:
        """Numbers of the queued and running jobs."""
        return {active.job.number for active in self._queue.active()}

    def _find(self, ledger: Ledger, numbers: Sequence[int]) -> dict[int, Job]:
        """The present state of stored jobs: from the queue, from memory, or else from the store."""
        jobs = self._ended.known(numbers) | self._queue.views(numbers)
        others = [number for number in numbers if number not in jobs]
        if others:
            stored = {job.request.number: from_store(job) for job in store.find_all(ledger, others)}
            self._ended.keep(stored.values())
            jobs |= stored
        return {job.number: _seen(ledger.visibility, job) for job in told_jobs(ledger, jobs.values())}


def _seen(visibility: Visibility, job: Job) -> Job:
    """The job as a principal sees it: only its state if it is another's, and its tables may be."""
    return job if _is_whole(visibility, job) else job.without_contents()


def _is_whole(visibility: Visibility, job: Job) -> bool:
    return visibility.owned.everything or job.request.owner == visibility.principal
