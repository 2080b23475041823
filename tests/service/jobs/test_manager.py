"""The manager: jobs are taken, run and remembered, and none is lost or done twice."""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Progress
from tableveil.errors import Checked, ConflictError, InvalidError, NotFoundError
from tableveil.hierarchy import InlineLevels, StoredLevels
from tableveil.lookups import Hierarchies, Releases
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.work import JobContext
from tableveil.policy import AttributePolicy, IfExists, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.runtime import FailureKind, Job, JobManager
from tableveil.runtime.active import Active
from tableveil.runtime.queue import JobQueue
from tableveil.state.jobs import JobPhase, JobState
from tableveil.verification import verify
from tests.once import once
from tests.service.jobs.managed import PATIENTS, POLICY, SECONDS, Open, ended, submit, to

pytestmark = pytest.mark.usefixtures("patients")


# --- one job --------------------------------------------------------------------------------------------------------


def test_a_job_from_submission_to_release(jobs: JobManager, database: Database, session: Session) -> None:
    queued = submit(jobs, POLICY, "r-1")
    assert queued.state in (JobState.QUEUED, JobState.RUNNING)
    assert (queued.request.request_id, queued.request.target_name) == ("r-1", "released")
    assert queued.request.source == TableReference("test", "main", "patients")
    seen = list(jobs.watch(queued.number, lambda: False))
    states = [job.state for job in seen]
    assert states == sorted(states, key=[JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED].index)
    last = seen[-1]
    assert (last.state, last.phase, last.failure) == (JobState.SUCCEEDED, JobPhase.VERIFYING, None)
    assert last.started_at is not None
    assert last.ended_at is not None
    assert queued.request.submitted_at <= last.started_at <= last.ended_at
    assert last.result is not None
    release = Releases(database).get(last.result)
    assert (release.job, release.policy) == (queued.number, queued.request.policy)
    assert session.value("SELECT count(*) FROM released") == PATIENTS
    assert jobs.get(queued.number) == last == next(iter(jobs.page(None, 1)))


def test_the_log_says_queued_before_started(
    jobs: JobManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    add = JobQueue.add

    def started_at_once(queue: JobQueue, active: Active) -> None:
        add(queue, active)
        deadline = time.monotonic() + SECONDS
        while not any(message.endswith("started") for message in caplog.messages) and time.monotonic() < deadline:
            time.sleep(0.001)

    monkeypatch.setattr(JobQueue, "add", started_at_once)
    with caplog.at_level(logging.INFO, "tableveil.jobs"):
        job = submit(jobs, POLICY)
        ended(jobs, job.number)
    assert caplog.messages[:2] == [f"jobs/{job.number} queued", f"jobs/{job.number} started"]


def test_progress_of_the_search_is_shown(jobs: JobManager, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = threading.Event()
    original = anonymize

    def report_progress(job: JobContext, policy: Policy, *, is_trial: bool) -> int:
        job.report.phase(JobPhase.SEARCHING)
        job.report.on_progress(Progress(17, 10**30, 0.5, 0.25, 0.01))
        assert shown.wait(SECONDS)
        return original(job, policy)

    monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", report_progress)
    job = submit(jobs, POLICY)
    for seen in jobs.watch(job.number, lambda: False):
        if seen.progress is not None and seen.progress.checked == 17:
            assert seen.progress.lattice_size == str(10**30)
            assert (seen.progress.best_score, seen.progress.lower_bound, seen.progress.suppressed_share) == (
                0.5,
                0.25,
                0.01,
            )
            # It reads before it searches, and each statement is a step.
            assert seen.step[0] > 0
            shown.set()
    assert shown.is_set()
    assert jobs.get(job.number).step == (0, 0)


def test_warnings_are_kept(jobs: JobManager) -> None:
    job = ended(jobs, submit(jobs, replace(POLICY, privacy_models=(KAnonymity(PATIENTS),))).number)
    assert job.state is JobState.SUCCEEDED
    assert [warning.split()[0] for warning in job.warnings] == ["'age'", "'ward'", "No"]


def test_unknown_job(jobs: JobManager) -> None:
    for ask in (jobs.get, jobs.cancel):
        with pytest.raises(NotFoundError) as raised:
            ask(4711)
        assert raised.value.code == "JOB_NOT_FOUND"
    with pytest.raises(NotFoundError):
        next(jobs.watch(4711, lambda: False))


# --- what is refused at once ----------------------------------------------------------------------------------------


def test_a_policy_that_does_not_fit_is_refused_and_not_remembered(jobs: JobManager) -> None:
    policy = replace(to("released"), source=TableReference("", "main", "pateints"))
    with pytest.raises(InvalidError) as raised:
        submit(jobs, policy, "r-1")
    assert [fault.field for fault in raised.value.faults] == ["source.table"]
    assert jobs.page(None, 10) == []
    # Nor is its request id taken.
    assert ended(jobs, submit(jobs, POLICY, "r-1").number).state is JobState.SUCCEEDED


def test_all_faults_against_the_database_at_once(jobs: JobManager) -> None:
    attributes = (*POLICY.attributes, AttributePolicy("illnes", Role.SENSITIVE))
    policy = replace(POLICY, attributes=attributes, release=ReleaseTarget("mian", "released"))
    with pytest.raises(InvalidError) as raised:
        submit(jobs, policy)
    assert [fault.field for fault in raised.value.faults] == ["attributes[3].column", "release.schema"]


def test_a_second_release_needs_a_reason(jobs: JobManager, session: Session) -> None:
    first = ended(jobs, submit(jobs, replace(POLICY, repeat_reason="")).number)
    with pytest.raises(InvalidError) as raised:
        submit(jobs, to("again", repeat_reason=""))
    assert raised.value.code == "REPEATED_RELEASE"
    assert raised.value.faults[0].field == "repeat_reason"
    assert f"releases/{first.result}" in raised.value.faults[0].found
    again = ended(jobs, submit(jobs, to("again", repeat_reason="for the ministry")).number)
    assert again.state is JobState.SUCCEEDED
    assert session.value("SELECT repeat_reason FROM tableveil.releases WHERE number = ?", [again.result]) == (
        "for the ministry"
    )


def test_a_taken_target_and_a_missing_reason_are_refused_in_one_answer(jobs: JobManager) -> None:
    """And so is what the rows say, by a check: who corrects one does not meet the next later."""
    ended(jobs, submit(jobs, POLICY).number)
    again = replace(POLICY, repeat_reason="")
    with pytest.raises(ConflictError) as raised:
        submit(jobs, again)
    assert raised.value.code == "TARGET_EXISTS"
    fields = [fault.field for fault in raised.value.faults]
    assert {"release.name", "repeat_reason"} == {*fields}
    age, *others = POLICY.attributes
    narrow = replace(again, attributes=(replace(age, hierarchy=InlineLevels((("20", "*"),))), *others))
    checked = [fault.field for fault in jobs.check(narrow).faults]
    assert {*checked} == {"release.name", "repeat_reason", "attributes[0].hierarchy"}


def test_a_repetition_under_another_name_fails_when_its_rows_are_read(jobs: JobManager, session: Session) -> None:
    ended(jobs, submit(jobs, POLICY).number)
    session.execute("CREATE TABLE people AS SELECT * FROM patients")
    job = ended(jobs, submit(jobs, to("again", source=TableReference("", "main", "people"), repeat_reason="")).number)
    assert job.failure is not None
    assert (job.state, job.failure.code, job.failure.kind) == (JobState.FAILED, "REPEATED_RELEASE", FailureKind.INVALID)


def test_existing_target(jobs: JobManager, session: Session) -> None:
    session.execute("CREATE VIEW released_risk AS SELECT 1 AS a")
    with pytest.raises(ConflictError) as raised:
        submit(jobs, POLICY)
    assert raised.value.code == "TARGET_EXISTS"


# --- request ids ----------------------------------------------------------------------------------------------------


def test_the_same_request_is_the_same_job(jobs: JobManager, open_manager: Open, session: Session) -> None:
    policy = replace(POLICY, repeat_reason="")
    first = submit(jobs, policy, "r-1")
    # While it runs, and when it has ended and its target exists and its source was released.
    assert submit(jobs, policy, "r-1").number == first.number
    ended(jobs, first.number)
    assert submit(jobs, policy, "r-1") == jobs.get(first.number)
    assert submit(open_manager(), policy, "r-1").number == first.number
    assert session.value("SELECT count(*) FROM tableveil.jobs") == 1


def test_a_request_id_names_one_policy(jobs: JobManager) -> None:
    first = submit(jobs, POLICY, "r-1")
    with pytest.raises(ConflictError) as raised:
        submit(jobs, to("other"), "r-1")
    assert raised.value.code == "REQUEST_ID_REUSED"
    assert f"jobs/{first.number}" in str(raised.value)
    assert len(jobs.page(None, 10)) == 1


def test_one_of_many_simultaneous_submissions_is_the_job(jobs: JobManager, session: Session) -> None:
    with ThreadPoolExecutor(8) as pool:
        numbers = [job.number for job in pool.map(lambda _: submit(jobs, POLICY, "r-1"), range(16))]
    assert len(set(numbers)) == 1
    ended(jobs, numbers[0])
    assert session.value("SELECT count(*) FROM tableveil.releases") == 1


# --- checking -------------------------------------------------------------------------------------------------------


def test_check_reads_the_rows_and_writes_no_release(jobs: JobManager, session: Session) -> None:
    sound = jobs.check(POLICY)
    assert sound.faults == ()
    (warning,) = sound.warnings
    assert warning.startswith("No privacy model names these sensitive columns: 'illness'.")
    hierarchy = InlineLevels((("20", "*"), ("21", "*")))
    bad = replace(POLICY, attributes=(replace(POLICY.attributes[0], hierarchy=hierarchy), *POLICY.attributes[1:]))
    assert [fault.field for fault in jobs.check(bad).faults] == ["attributes[0].hierarchy"]
    assert jobs.check(bad, rows=False) == Checked(warnings=(warning,))
    assert [fault.field for fault in jobs.check(to("patients"), rows=False).faults] == ["release.name"]
    assert jobs.page(None, 10) == []
    assert session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'released'") == []


def test_hierarchies_are_created_found_and_used(jobs: JobManager, database: Database) -> None:
    hierarchies = Hierarchies(database)
    with pytest.raises(InvalidError) as raised:
        hierarchies.create("", [["20", "*"], ["20", "*"]])
    assert [fault.field for fault in raised.value.faults] == ["name", "rows[1].labels[0]"]
    rows = [[str(age), "twenties", "*"] for age in range(20, 30)]
    assert hierarchies.create("ages", rows).reference == "ages@1"
    assert hierarchies.create("ages", rows).reference == "ages@1"
    assert [stored.reference for stored in hierarchies.page(("", 0), 10)] == ["ages@1"]
    attributes = (replace(POLICY.attributes[0], hierarchy=StoredLevels("ages")), *POLICY.attributes[1:])
    job = ended(jobs, submit(jobs, replace(POLICY, attributes=attributes)).number)
    assert job.result is not None
    assert Releases(database).get(job.result).attributes[0].hierarchy == "ages@1"


# --- releases -------------------------------------------------------------------------------------------------------


def test_objects_of_a_release(jobs: JobManager, database: Database) -> None:
    job = ended(jobs, submit(jobs, POLICY).number)
    assert job.result is not None
    releases = Releases(database)
    with releases.read(job.result, "released_risk") as reader:
        assert reader.read_all().column_names == ["measure", "threshold", "value"]
    with pytest.raises(NotFoundError) as raised, releases.read(job.result, "released_rsik"):
        pass
    assert raised.value.code == "OBJECT_NOT_FOUND"
    assert raised.value.faults[0].hint == "Did you mean 'released_risk'?"
    with pytest.raises(NotFoundError), releases.read(job.result, "patients"):
        pass
    with pytest.raises(NotFoundError):
        releases.get(4711)


@pytest.mark.parametrize("name", once(["Released", "released"]))
def test_a_replaced_release_has_no_objects_any_more(jobs: JobManager, database: Database, name: str) -> None:
    first = ended(jobs, submit(jobs, POLICY).number)
    target = ReleaseTarget("main", name, if_exists=IfExists.REPLACE)
    second = ended(jobs, submit(jobs, replace(POLICY, release=target, repeat_reason="better")).number)
    releases = Releases(database)
    assert first.result is not None
    assert second.result is not None
    with pytest.raises(ConflictError) as raised, releases.read(first.result, "released"):
        pass
    assert raised.value.code == "RELEASE_REPLACED"
    with releases.read(second.result, name) as reader:
        assert reader.read_all().num_rows == PATIENTS
    assert [(found.number, found.current) for found in releases.page(None, 10)] == [
        (second.result, True),
        (first.result, False),
    ]


# --- many at once ---------------------------------------------------------------------------------------------------


def test_of_two_simultaneous_releases_without_a_reason_one_is_refused(
    open_manager: Open, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither knows of the other until it writes, and they write one after the other."""
    writing, most = [0], [0]

    def verify_slowly(*arguments: Any) -> None:
        writing[0] += 1
        most[0] = max(most[0], writing[0])
        time.sleep(0.3)
        verify(*arguments)
        writing[0] -= 1

    # The package has a function of the module's name.
    monkeypatch.setattr(import_module("tableveil.lifecycle.publish"), "verify", verify_slowly)
    jobs = open_manager(concurrent_jobs=2)
    submitted = [submit(jobs, to(name, repeat_reason="")) for name in ("first", "second")]
    done = [ended(jobs, job.number) for job in submitted]
    assert sorted(job.state for job in done) == [JobState.FAILED, JobState.SUCCEEDED]
    assert [job.failure.code for job in done if job.failure] == ["REPEATED_RELEASE"]
    assert most == [1]
    assert session.value("SELECT count(*) FROM tableveil.releases") == 1


@pytest.mark.parametrize("each", once([1, 2]))
def test_no_release_is_lost_or_doubled(open_manager: Open, session: Session, database: Database, each: int) -> None:
    """4 clients submit one or two jobs, each of them twice, to 3 workers."""
    jobs = open_manager(concurrent_jobs=3)

    def client(number: int) -> list[Job]:
        done = []
        for i in range(each):
            policy, request_id = to(f"r_{number}_{i}"), f"client {number} job {i}"
            job = submit(jobs, policy, request_id)
            assert submit(jobs, policy, request_id).number == job.number
            done.append(ended(jobs, job.number))
        return done

    with ThreadPoolExecutor(4) as pool:
        done = [job for found in pool.map(client, range(4)) for job in found]
    assert [(job.state, job.failure) for job in done] == [(JobState.SUCCEEDED, None)] * 4 * each
    assert len({job.number for job in done}) == len({job.result for job in done}) == 4 * each
    ledger = session.rows("SELECT job, number, target_name FROM tableveil.releases")
    assert sorted(ledger) == sorted((job.number, job.result, job.request.target_name) for job in done)
    for job in done:
        assert session.value(f'SELECT count(*) FROM "{job.request.target_name}"') == PATIENTS
    assert session.value("SELECT count(*) FROM tableveil.job_outcomes WHERE state = 'SUCCEEDED'") == 4 * each
