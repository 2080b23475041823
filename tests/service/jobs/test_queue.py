"""The queue: jobs wait their turn, write one target at a time, are cancelled, and tell who watches."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tableveil.backend import Session
from tableveil.errors import BusyError, ConflictError
from tableveil.pipelines.work import JobContext
from tableveil.policy import Policy, ReleaseTarget
from tableveil.runtime import FailureKind, JobManager, QueueLimits
from tableveil.state.jobs import JobState
from tests.once import once
from tests.service.jobs.managed import POLICY, SECONDS, Gate, Open, ended, submit, to

pytestmark = pytest.mark.usefixtures("patients")


def test_jobs_wait_in_order(open_manager: Open, gate: Gate) -> None:
    jobs = open_manager(concurrent_jobs=1)
    numbers = [submit(jobs, to(f"t{i}")).number for i in range(4)]
    gate.wait_for(1)
    assert [jobs.get(number).state for number in numbers] == [JobState.RUNNING, *[JobState.QUEUED] * 3]
    assert [jobs.get(number).queue_position for number in numbers[1:]] == [0, 1, 2]
    assert [job.queue_position for job in jobs.page(None, 10)] == [2, 1, 0, 0]
    gate.open.set()
    for number in numbers:
        ended(jobs, number)
    assert gate.started == numbers


def test_no_more_jobs_run_at_once_than_allowed(open_manager: Open, gate: Gate) -> None:
    jobs = open_manager(concurrent_jobs=3)
    for i in range(5):
        submit(jobs, to(f"t{i}"))
    gate.wait_for(3)
    time.sleep(0.05)
    assert sum(job.state is JobState.RUNNING for job in jobs.page(None, 10)) == len(gate.started) == 3


def test_a_full_queue(open_manager: Open, gate: Gate) -> None:
    jobs = open_manager(concurrent_jobs=1, limits=QueueLimits(2))
    submit(jobs, to("running"))
    gate.wait_for(1)
    waiting = [submit(jobs, to(f"waiting{i}"), f"r-{i}") for i in range(2)]
    with pytest.raises(BusyError) as raised:
        submit(jobs, to("too_many"))
    assert raised.value.code == "QUEUE_FULL"
    # A known request needs no room, and a job that leaves makes some.
    assert submit(jobs, to("waiting0"), "r-0").number == waiting[0].number
    jobs.cancel(waiting[0].number)
    submit(jobs, to("now_there_is_room"))


@pytest.mark.parametrize(
    ("first", "second"),
    once(
        [("released", "released"), ("released", "RELEASED"), ("released", "released_classes"), ("x_risk", "x")],
        2,
        several=True,
    ),
)
def test_a_target_that_another_job_writes(open_manager: Open, gate: Gate, first: str, second: str) -> None:
    jobs = open_manager(concurrent_jobs=1)
    running = submit(jobs, to(first))
    for _ in range(2):
        with pytest.raises(ConflictError) as raised:
            submit(jobs, to(second))
        assert raised.value.code == "TARGET_IN_USE"
        assert f"jobs/{running.number}" in str(raised.value)
        # Running or still queued, it is the same.
        gate.wait_for(1)
    submit(jobs, to("another"))
    gate.open.set()
    ended(jobs, running.number)
    submit(jobs, to(second))


def test_the_same_name_in_another_schema_is_another_target(jobs: JobManager, session: Session, gate: Gate) -> None:
    session.execute("CREATE SCHEMA elsewhere")
    submit(jobs, POLICY)
    submit(jobs, replace(POLICY, release=ReleaseTarget("elsewhere", "released")))


# --- cancelling -----------------------------------------------------------------------------------------------------


def test_cancel_a_queued_job(open_manager: Open, gate: Gate) -> None:
    jobs = open_manager(concurrent_jobs=1)
    submit(jobs, to("running"))
    gate.wait_for(1)
    waiting = submit(jobs, to("waiting"))
    job = jobs.cancel(waiting.number)
    assert job.state is JobState.CANCELLED
    assert job.failure is not None
    assert job.failure.kind is FailureKind.CANCELLED
    assert job.started_at is None
    gate.open.set()
    time.sleep(0.05)
    assert waiting.number not in gate.started
    assert jobs.get(waiting.number) == job


def test_cancel_a_running_job(open_manager: Open, gate: Gate) -> None:
    jobs = open_manager(concurrent_jobs=1)
    running = submit(jobs, to("running"))
    gate.wait_for(1)
    jobs.cancel(running.number)
    job = ended(jobs, running.number)
    assert job.state is JobState.CANCELLED
    # The worker goes on.
    other = submit(jobs, to("other"))
    gate.open.set()
    assert ended(jobs, other.number).state is JobState.FAILED


def test_cancel_interrupts_a_long_statement(
    jobs: JobManager, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = threading.Event()

    def run_long(job: JobContext, policy: Policy, *, is_trial: bool) -> int:
        running.set()
        return int(job.session.value("SELECT count(*) FROM range(1_000_000_000_000) r(i) WHERE hash(i) = 1"))

    monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", run_long)
    job = submit(jobs, POLICY)
    assert running.wait(SECONDS)
    time.sleep(0.1)
    jobs.cancel(job.number)
    assert ended(jobs, job.number).state is JobState.CANCELLED


# --- watching -------------------------------------------------------------------------------------------------------


def test_a_watcher_that_leaves_disturbs_nobody(open_manager: Open, gate: Gate) -> None:
    jobs = open_manager(concurrent_jobs=1)
    job = submit(jobs, POLICY)
    gate.wait_for(1)
    left = threading.Event()
    watch = jobs.watch(job.number, left.is_set)
    assert not next(watch).state.ended
    left.set()
    assert list(watch) == []
    gate.open.set()
    assert ended(jobs, job.number).state is JobState.FAILED


def test_many_watchers_see_the_end(open_manager: Open, gate: Gate) -> None:
    jobs = open_manager(concurrent_jobs=1)
    job = submit(jobs, POLICY)
    with ThreadPoolExecutor(8) as pool:
        watchers = [pool.submit(ended, jobs, job.number) for _ in range(8)]
        gate.wait_for(1)
        gate.open.set()
        assert {watcher.result().state for watcher in watchers} == {JobState.FAILED}
