"""Section: many large jobs at once under a small memory limit, with the budget that jobs share and without it."""

import logging
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.discharges import CACHE, discharges, wide_policy
from benchmarks.markdown import seconds, table
from benchmarks.section import Section, verdict
from tableveil.backend import Database, Settings
from tableveil.convert import canonical_json
from tableveil.counting.cost import memory_limit as memory_bytes
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.work import Work
from tableveil.policy import ReleaseTarget
from tableveil.runtime import Job, JobManager, JobSettings, QueueLimits, open_jobs
from tableveil.state.jobs import JobState
from tests.service.convert.policy_to_proto import policy_to_proto

TITLE = "Many jobs on a small memory limit"
ROWS = 1_000_000
JOBS = 24
CONCURRENT_JOBS = 8
MEMORY_LIMIT = "2GiB"
THREADS = 2

_AGAIN = "run again by itself"
SECONDS_TO_STOP = 60.0


@dataclass(frozen=True, slots=True)
class _Run:
    """All jobs from the first submission to the last end: how many succeeded, why others failed, which ran twice."""

    seconds: float
    succeeded: int
    failures: Counter[str]
    again: int

    @property
    def row(self) -> Sequence[str]:
        """The run's row in the table."""
        failures = ", ".join(f"{count} {code}" for code, count in self.failures.items())
        return seconds(self.seconds), str(self.succeeded), failures or "none", str(self.again)


def memory(
    rows: int = ROWS, jobs: int = JOBS, concurrent_jobs: int = CONCURRENT_JOBS, memory_limit: str = MEMORY_LIMIT
) -> Section:
    """Runs one set of jobs with the budget, then without: each job then takes the whole limit for its own."""
    shared = _run(rows, jobs, concurrent_jobs, memory_limit, shared=True)
    unshared = _run(rows, jobs, concurrent_jobs, memory_limit, shared=False)
    done = shared.succeeded == jobs
    return Section(
        TITLE,
        (
            f"{jobs} releases of {rows:,} generated discharges, submitted at once to a server with memory_limit "
            f"{memory_limit}, {THREADS} threads and {concurrent_jobs} concurrent jobs.",
            table(
                ("memory", "s", "succeeded", "failed", "run again by themselves"),
                [("shared by a budget", *shared.row), ("whole limit to each job", *unshared.row)],
            ),
            f"All finish, and none fails for memory: {verdict(done)}.",
        ),
        sound=done,
    )


def _run(rows: int, jobs: int, concurrent_jobs: int, memory_limit: str, *, shared: bool) -> _Run:
    with (
        _copy_of(rows) as path,
        closing(Database(Settings(path, memory_limit, THREADS))) as database,
        _counted() as again,
    ):
        with database.session() as session:
            whole = memory_bytes(session)
        manager = open_jobs(
            database, JobSettings(concurrent_jobs, QueueLimits(jobs), whole if shared else concurrent_jobs * whole)
        )
        started = time.monotonic()
        submitted = [manager.submit(_work(number)).number for number in range(jobs)]
        ended = [_ended(manager, number) for number in submitted]
        elapsed = time.monotonic() - started
        manager.close(SECONDS_TO_STOP)
    succeeded = sum(job.state is JobState.SUCCEEDED for job in ended)
    return _Run(elapsed, succeeded, Counter(job.failure.code for job in ended if job.failure), again.count)


def _work(number: int) -> Work:
    target = ReleaseTarget("main", f"release_{number}")
    policy = replace(wide_policy(), release=target, repeat_reason="a benchmark")
    return release_work(policy, canonical_json(policy_to_proto(policy)))


def _ended(manager: JobManager, number: int) -> Job:
    *_, last = manager.watch(number, lambda: False)
    return last


@contextmanager
def _copy_of(rows: int) -> Iterator[Path]:
    source = discharges(rows)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        path = Path(directory) / "jobs.duckdb"
        shutil.copyfile(source, path)
        yield path


class _Again(logging.Handler):
    """Counts the jobs that the manager runs again."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """One line of the log."""
        self.count += _AGAIN in record.msg


@contextmanager
def _counted() -> Iterator[_Again]:
    handler, logger = _Again(), logging.getLogger("tableveil.jobs")
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
