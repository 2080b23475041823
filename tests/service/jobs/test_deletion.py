"""Jobs are deleted with what they found, by hand or by age; releases are not."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from tableveil.backend import Database, Session
from tableveil.convert import canonical_json, stored_policy
from tableveil.convert.proposals import composed
from tableveil.errors import ConflictError, NotFoundError
from tableveil.lookups import Releases
from tableveil.pipelines.frontier import frontier_work
from tableveil.pipelines.propose import proposal_work
from tableveil.pipelines.risk_analysis import risk_analysis_work
from tableveil.pipelines.utility_report import utility_report_work
from tableveil.pipelines.work import Work
from tableveil.policy import KAnonymity, TableReference
from tableveil.requests.frontier import FrontierGrid
from tableveil.requests.proposal import ProposalRequest
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.runtime import JobManager
from tableveil.runtime.upkeep import delete_old
from tableveil.state.jobs import KINDS, JobKind, JobState
from tableveil.v1 import proposal_service_pb2 as v1
from tests.migrated import passing
from tests.once import once
from tests.service.jobs.managed import LABELLED, POLICY, Gate, Open, ended, submit, to

NOTHING = timedelta(0)

FINDINGS: dict[str, Callable[[], Work]] = {
    "frontier": lambda: frontier_work(POLICY, FrontierGrid.of([2, 3], [Decimal(0)]), "{}"),
    "risk analysis": lambda: risk_analysis_work(
        RiskRequest(TableReference("", "main", "patients"), None, ("age", "ward"), records=True), "{}", stored_policy
    ),
    "proposal": lambda: proposal_work(
        ProposalRequest(TableReference("", "main", "patients"), seconds=Decimal(4)),
        canonical_json(v1.ProposalRequest()),
        composed,
    ),
    "utility report": lambda: utility_report_work(1, "{}", lambda _: LABELLED),
}


def sizes(session: Session) -> dict[str, int]:
    """The state's tables with their numbers of rows; checksums of the release are made at any time."""
    query = "FROM duckdb_tables() SELECT table_name WHERE schema_name = 'tableveil' AND table_name <> 'row_checksums'"
    names = session.rows(query)
    return {name: session.value(f"SELECT count(*) FROM tableveil.{name}") for (name,) in names}


@pytest.fixture
def database(tmp_path: Path, released_once: Path) -> Iterator[Database]:
    yield from passing(tmp_path / "test.duckdb", released_once)


@pytest.mark.parametrize("name", once(FINDINGS, 2))
def test_nothing_is_left_of_a_job_and_what_it_found(jobs: JobManager, session: Session, name: str) -> None:
    before = sizes(session)
    job = ended(jobs, jobs.submit(FINDINGS[name]()).number)
    assert job.state is JobState.SUCCEEDED, job.failure
    assert sizes(session) != before
    jobs.delete(job.number)
    assert sizes(session) == before
    with pytest.raises(NotFoundError):
        jobs.get(job.number)
    with pytest.raises(NotFoundError):
        jobs.delete(job.number)


def test_every_table_of_what_jobs_find_is_known(jobs: JobManager, session: Session) -> None:
    """Tables of findings refer to them by a column of one of these names."""
    columns = session.rows(
        "SELECT table_name, list(column_name) FROM duckdb_columns() JOIN duckdb_tables() USING (table_oid, table_name) "
        "WHERE duckdb_columns.schema_name = 'tableveil' GROUP BY ALL"
    )
    known = {name for kind, stored in KINDS.items() if kind is not JobKind.RELEASE for name in stored.results.names()}
    of_jobs = {
        "jobs",
        "job_events",
        "job_outcomes",
        "job_reads",
        "job_rights",
        "joint_texts",
        "releases",
        "audit_entries",
        # A budget is never given back.
        "privacy_charges",
    }
    referring = {"job", "frontier", "payout_sweep", "analysis", "classification", "report", "dry_run", "proposal"}
    assert known == {name for name, found in columns if referring & set(found)} - of_jobs
    assert {*KINDS} == {*JobKind}


def test_the_job_of_a_release_stays(jobs: JobManager) -> None:
    (job,) = jobs.page(None, 10)
    with pytest.raises(ConflictError) as raised:
        jobs.delete(job.number)
    assert raised.value.code == "JOB_OF_RELEASE"
    assert jobs.get(job.number) == job


def test_a_job_that_has_not_ended_stays(open_manager: Open, gate: Gate) -> None:
    jobs = open_manager(concurrent_jobs=1)
    (released,) = jobs.page(None, 10)
    running, queued = submit(jobs, to("one")), submit(jobs, to("other"))
    gate.wait_for(1)
    for job in (running, queued):
        with pytest.raises(ConflictError) as raised:
            jobs.delete(job.number)
        assert raised.value.code == "JOB_ACTIVE"
        jobs.cancel(job.number)
        assert ended(jobs, job.number).state is JobState.CANCELLED
        jobs.delete(job.number)
    assert jobs.page(None, 10) == [released]


def test_the_request_id_of_a_deleted_job_is_free(jobs: JobManager) -> None:
    failing = replace(to("other"), privacy_models=(KAnonymity(31),), suppression_limit=Decimal(0))
    first = ended(jobs, submit(jobs, failing, "r-1").number)
    assert submit(jobs, failing, "r-1") == first
    jobs.delete(first.number)
    assert submit(jobs, failing, "r-1").number > first.number


@pytest.mark.parametrize("names", once([("frontier",), tuple(FINDINGS)]), ids=["one", "all"])
def test_retention_deletes_what_is_old_and_keeps_releases(
    jobs: JobManager, database: Database, session: Session, names: tuple[str, ...]
) -> None:
    (release,) = jobs.page(None, 10)
    assert release.result is not None
    evidence = Releases(database).get(release.result)
    infeasible = replace(to("other"), privacy_models=(KAnonymity(31),), suppression_limit=Decimal(0))
    found = [ended(jobs, jobs.submit(FINDINGS[name]()).number) for name in names]
    failed = ended(jobs, submit(jobs, infeasible).number)
    assert delete_old(database, timedelta(days=1)) == (0, 0)
    deleted, events = delete_old(database, NOTHING)
    assert deleted == len([*found, failed])
    # Reading, counting, searching, writing, verifying, and what progress there was: the first and the last stay.
    assert events >= 3
    assert session.value("SELECT count(*) FROM tableveil.job_events") == 2
    assert jobs.page(None, 10) == [release]
    assert jobs.get(release.number) == release
    # Asked for before, it was kept at hand.
    with pytest.raises(NotFoundError):
        jobs.get(failed.number)
    assert Releases(database).get(release.result) == evidence
    with Releases(database).read(release.result, "released") as reader:
        assert reader.read_all().num_rows == 30


def test_retention_leaves_jobs_that_have_not_ended(open_manager: Open, database: Database, gate: Gate) -> None:
    jobs = open_manager(concurrent_jobs=1)
    numbers = {submit(jobs, to(name)).number for name in ("running", "queued")}
    gate.wait_for(1)
    # Some events of the release's job are deleted.
    assert delete_old(database, NOTHING)[0] == 0
    assert {job.number for job in jobs.page(None, 10)} > numbers
