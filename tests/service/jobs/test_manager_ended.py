"""The end of a server, and of jobs that fail: what is interrupted, what starts anew, what outlives the process."""

import logging
import threading
from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import (
    BusyError,
    CancelledError,
    ConflictError,
    InfeasibleError,
    InternalError,
    InvalidError,
    TableveilError,
)
from tableveil.hierarchy import InlineLevels
from tableveil.lookups import Releases
from tableveil.pipelines.anonymize import anonymize
from tableveil.policy import KAnonymity
from tableveil.runtime import Failure, FailureKind, JobManager
from tableveil.state import jobs as store
from tableveil.state.jobs import JobState
from tests.service.jobs.managed import PATIENTS, POLICY, SECONDS, Gate, Open, ended, submit, to

pytestmark = pytest.mark.usefixtures("patients")


# --- the end of the server ------------------------------------------------------------------------------------------


def test_close_ends_queued_and_running_jobs_as_interrupted(open_manager: Open, gate: Gate) -> None:
    others = set(threading.enumerate())
    jobs = open_manager(concurrent_jobs=1)
    running, waiting = submit(jobs, to("running")), submit(jobs, to("waiting"))
    gate.wait_for(1)
    jobs.close(SECONDS)
    for number in (running.number, waiting.number):
        job = jobs.get(number)
        assert job.state is JobState.INTERRUPTED
        assert job.failure is not None
        assert job.failure.code == "INTERRUPTED"
        assert "submit it again" in job.failure.message
    with pytest.raises(BusyError) as raised:
        submit(jobs, to("late"))
    assert raised.value.code == "STOPPING"
    assert threading.active_count() < 20
    mine = set(threading.enumerate()) - others
    assert not [thread for thread in mine if thread.name.startswith("tableveil-worker")]


def test_what_a_dead_process_left_unfinished_is_interrupted(
    open_manager: Open, session: Session, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = open_manager(concurrent_jobs=1)
    running, waiting = submit(dead, to("running")), submit(dead, to("waiting"))
    gate.wait_for(1)
    monkeypatch.undo()
    # As a process finds it that starts after kill -9: no outcome of either.
    jobs = open_manager(concurrent_jobs=1)
    assert [jobs.get(job.number).state for job in (running, waiting)] == [JobState.INTERRUPTED] * 2
    assert session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name IN ('running', 'waiting')") == []
    again = ended(jobs, submit(jobs, to("running")).number)
    assert again.state is JobState.SUCCEEDED


def test_a_request_id_starts_an_interrupted_job_anew(
    open_manager: Open, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = open_manager(concurrent_jobs=1)
    first = submit(dead, POLICY, "r-1")
    gate.wait_for(1)
    monkeypatch.undo()
    jobs = open_manager(concurrent_jobs=1)
    assert jobs.get(first.number).state is JobState.INTERRUPTED
    again = ended(jobs, submit(jobs, POLICY, "r-1").number)
    assert again.number != first.number
    assert again.state is JobState.SUCCEEDED
    # From now on the id means the one that was done.
    assert submit(jobs, POLICY, "r-1") == again


def test_a_request_id_starts_anew_what_may_pass_by_itself(jobs: JobManager, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: list[TableveilError] = []

    def fail(*arguments: object, **options: object) -> int:
        raise outcomes[-1]

    monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", fail)
    for error, again in (
        (BusyError("DISK_FULL", "no space"), True),
        (ConflictError("WRITE_CONFLICT", "another transaction"), True),
        (ConflictError("SOURCE_CHANGED", "other rows"), True),
        (ConflictError("TARGET_IN_USE", "another job writes it"), True),
        (ConflictError("TARGET_EXISTS", "something is there"), False),
        (InfeasibleError("INFEASIBLE", "nothing meets the policy"), False),
        (InvalidError("POLICY_INVALID", "a hierarchy misses a value"), False),
        (CancelledError("CANCELLED", "the job was cancelled"), False),
        (InternalError("INTERNAL", "a defect"), False),
    ):
        request_id = f"r {error.code}"
        outcomes.append(error)
        first = ended(jobs, submit(jobs, POLICY, request_id).number)
        assert first.failure is not None
        assert first.failure.code == error.code
        outcomes.append(InternalError("ANEW", "it ran once more"))
        second = ended(jobs, submit(jobs, POLICY, request_id).number)
        assert (second == first) is not again
        assert second.failure is not None
        assert (second.failure.code == "ANEW") is again
        # A client that insists gets a new job, and the id means that one.
        third = ended(jobs, submit(jobs, POLICY, request_id, again=True).number)
        assert third.number > second.number
        assert submit(jobs, POLICY, request_id).number >= third.number


def test_finished_work_outlives_its_process(jobs: JobManager, open_manager: Open, database: Database) -> None:
    job = ended(jobs, submit(jobs, POLICY).number)
    jobs.close(SECONDS)
    later = open_manager()
    assert later.get(job.number) == later.cancel(job.number) == job
    assert list(later.watch(job.number, lambda: False)) == [job]
    assert job.state is JobState.SUCCEEDED
    assert job.result is not None
    with Releases(database).read(job.result, "released") as reader:
        assert reader.read_all().num_rows == PATIENTS


def test_pages_of_jobs_newest_first(jobs: JobManager, gate: Gate) -> None:
    numbers = [submit(jobs, to(f"t{i}")).number for i in range(7)]
    found: list[int] = []
    while page := jobs.page(found[-1] if found else None, 3):
        assert len(page) <= 3
        found += [job.number for job in page]
    assert found == numbers[::-1]


# --- failures -------------------------------------------------------------------------------------------------------


def test_an_unexpected_failure_says_no_value(
    jobs: JobManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object, **options: object) -> int:
        secret = "Smith-4711"
        raise ValueError(f"could not convert {secret!r}")

    original = anonymize
    monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", fail)
    with caplog.at_level(logging.DEBUG):
        job = ended(jobs, submit(jobs, POLICY).number)
    assert job.state is JobState.FAILED
    assert job.failure == Failure(FailureKind.INTERNAL, "INTERNAL", "an unexpected ValueError; see the server's log")
    assert "Smith" not in caplog.text
    # But where it happened.
    assert "ValueError at fail:" in caplog.text
    monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", original)
    assert ended(jobs, submit(jobs, POLICY).number).state is JobState.SUCCEEDED


def test_failures_come_back_with_their_faults(jobs: JobManager, open_manager: Open) -> None:
    hierarchy = InlineLevels((("20", "*"), ("21", "*")))
    attributes = (replace(POLICY.attributes[0], hierarchy=hierarchy), *POLICY.attributes[1:])
    job = ended(jobs, submit(jobs, replace(POLICY, attributes=attributes)).number)
    assert job.failure is not None
    assert (job.failure.kind, job.failure.code) == (FailureKind.INVALID, "POLICY_INVALID")
    (fault,) = job.failure.faults
    assert (fault.field, "'22'" in fault.found) == ("attributes[0].hierarchy", False), (
        "a value is not for the job's list"
    )
    assert open_manager().get(job.number).failure == job.failure


def test_infeasible_is_neither_invalid_nor_internal(jobs: JobManager) -> None:
    attributes = tuple(replace(a, maximum_level=0) if a.hierarchy else a for a in POLICY.attributes)
    policy = replace(POLICY, attributes=attributes, privacy_models=(KAnonymity(6),), suppression_limit=Decimal(0))
    job = ended(jobs, submit(jobs, policy).number)
    assert job.failure is not None
    assert (job.failure.kind, job.failure.code) == (FailureKind.INFEASIBLE, "INFEASIBLE")
    # 30 records in six classes of five.
    changes = [change for relaxation in job.failure.relaxations for change in relaxation.changes]
    assert ("privacy_models[0].k_anonymity.k", "5") in [(change.field, change.value) for change in changes]
    nearest = replace(policy, privacy_models=(KAnonymity(5),))
    assert ended(jobs, submit(jobs, nearest).number).state is JobState.SUCCEEDED


def test_a_job_that_cannot_be_recorded_ends_for_its_watchers(
    jobs: JobManager, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit(jobs, POLICY)
    gate.wait_for(1)

    def fail(*arguments: object) -> None:
        raise BusyError("DISK_FULL", "no space left")

    monkeypatch.setattr(store, "insert_outcome", fail)
    gate.open.set()
    assert ended(jobs, job.number).state is JobState.FAILED
