"""Jobs share memory: they wait for each other in their order, and one that finds none beside others runs alone."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tableveil.backend import Session
from tableveil.errors import BusyError
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.work import JobContext
from tableveil.policy import Policy, TableReference
from tableveil.runtime import manager
from tableveil.runtime.memory import BYTES_PER_JOB, BYTES_PER_VALUE, MemoryBudget, estimated_need
from tableveil.state.jobs import JobPhase, JobState
from tests.once import once
from tests.service.jobs.managed import Gate, Open, ended, submit, to

pytestmark = pytest.mark.usefixtures("patients")

TABLE = TableReference("test", "main", "patients")


def test_equal_shares_always_fit() -> None:
    budget = MemoryBudget(1000, 3)
    for job in range(3):
        assert budget.fits(0)
        assert budget.grant(job, 0) == 333
    assert not budget.fits(0)
    budget.release(1)
    assert budget.fits(333)
    assert not budget.fits(335)


def test_more_than_there_is_means_all() -> None:
    budget = MemoryBudget(1000, 3)
    assert budget.grant(1, 5000) == 1000
    assert not budget.fits(0)
    budget.release(1)
    assert budget.fits(5000)


def test_the_need_grows_with_the_source(session: Session) -> None:
    assert estimated_need(session, [TABLE]) == BYTES_PER_JOB + 30 * 3 * BYTES_PER_VALUE
    session.execute("CREATE TABLE larger AS SELECT * FROM patients, range(10)")
    session.execute("CREATE VIEW seen AS SELECT * FROM larger")
    assert estimated_need(session, [TABLE]) == BYTES_PER_JOB + 30 * 3 * BYTES_PER_VALUE
    # A view may read anything.
    assert estimated_need(session, [replace(TABLE, table="seen")]) == BYTES_PER_JOB + 300 * 4 * BYTES_PER_VALUE


def test_a_large_job_waits_and_nobody_overtakes_it(
    open_manager: Open, session: Session, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("CREATE TABLE large AS FROM patients")
    monkeypatch.setattr(manager, "estimated_need", lambda session, reads: 900 if reads[0].table == "large" else 0)
    jobs = open_manager(concurrent_jobs=3, memory=1000)
    first = submit(jobs, to("first"))
    gate.wait_for(1)
    large = submit(jobs, to("second", source=TableReference("", "main", "large")))
    behind = submit(jobs, to("third"))
    # There is a worker for each, and memory for the last one.
    assert [jobs.get(job.number).queue_position for job in (large, behind)] == [0, 1]
    assert gate.started == [first.number]
    jobs.cancel(first.number)
    gate.wait_for(2)
    assert gate.started == [first.number, large.number]
    assert jobs.cancel(behind.number).state is JobState.CANCELLED


def busy() -> Exception:
    return BusyError("OUT_OF_MEMORY", "no memory")


class Tight:
    """Takes the place of a job's run: those named find no memory unless all of it is theirs. Others run meanwhile."""

    def __init__(self) -> None:
        self.memory = 4 * BYTES_PER_JOB
        self.granted: list[tuple[str, int | None]] = []
        self.failing = {"tight"}
        self.error: Callable[[], Exception] = busy

    def run(self, job: JobContext, policy: Policy, *, is_trial: bool) -> int:
        name = policy.release.name
        self.granted.append((name, job.session.memory))
        job.report.phase(JobPhase.READING)
        if name in self.failing and (job.session.memory != self.memory or name == "hopeless"):
            raise self.error()
        return anonymize(job, policy)


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> Tight:
    found = Tight()
    monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", found.run)
    return found


# Parameters live until the process ends: errors among them would keep the frames and sessions that they passed.
@pytest.mark.parametrize("error", once([busy, MemoryError]))
def test_who_finds_no_memory_beside_others_is_run_again_alone(
    open_manager: Open, tight: Tight, session: Session, error: Callable[[], Exception]
) -> None:
    tight.error = error
    jobs = open_manager(concurrent_jobs=2, memory=tight.memory)
    numbers = [submit(jobs, to(name)).number for name in ("tight", "other", "third")]
    assert [ended(jobs, number).state for number in numbers] == [JobState.SUCCEEDED] * 3
    assert [granted for name, granted in tight.granted if name == "tight"] == [tight.memory // 2, tight.memory]
    assert session.value("SELECT count(*) FROM tableveil.releases") == 3


def test_who_finds_no_memory_even_alone_fails(open_manager: Open, tight: Tight) -> None:
    tight.failing = {"hopeless"}
    jobs = open_manager(concurrent_jobs=2, memory=tight.memory)
    job = ended(jobs, submit(jobs, to("hopeless"), "r-1").number)
    assert job.failure is not None
    assert (job.state, job.failure.code) == (JobState.FAILED, "OUT_OF_MEMORY")
    assert [granted for _, granted in tight.granted] == [tight.memory // 2, tight.memory]
    # With the same request id it is tried once more: there may be more memory by then.
    tight.failing = set()
    again = ended(jobs, submit(jobs, to("hopeless"), "r-1").number)
    assert again.state is JobState.SUCCEEDED
    assert again.number > job.number
