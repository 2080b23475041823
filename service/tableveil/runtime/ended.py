"""Jobs that have ended, as long as they are kept in memory."""

import threading
from collections.abc import Iterable

from tableveil.runtime.model import Job

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
