"""Four eyes: a release stays private until another person approves it, and a rejected one leaves nothing behind."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import ConflictError, InternalError, TableveilError
from tableveil.lookups import Releases
from tableveil.operate.objects import examine_releases, orphans
from tableveil.pipelines.utility_report import utility_report_work
from tableveil.policy import IfExists, Policy, ReleaseKind, ReleaseTarget
from tableveil.runtime import JobManager, JobSettings, open_jobs
from tableveil.state.decisions import Decision
from tableveil.state.jobs import now
from tableveil.state.releases import ReleaseState
from tests.migrated import passing
from tests.once import once
from tests.service.jobs.managed import LABELLED, Open, ended, submit
from tests.service.jobs.plain import plain_target

OBJECTS = LABELLED.release.object_names
APPROVED = Decision(True, "bob", now(), "looks good")
REJECTED = Decision(False, "bob", now(), "too fine")
PLAIN = replace(LABELLED, release=plain_target("main", "released", if_exists=IfExists.REPLACE))
REPLACED = replace(LABELLED, release=replace(LABELLED.release, if_exists=IfExists.REPLACE))


@pytest.fixture
def database(tmp_path: Path, released_once: Path) -> Iterator[Database]:
    """With the public releases/1."""
    yield from passing(tmp_path / "test.duckdb", released_once)


@pytest.fixture
def jobs(open_manager: Open) -> JobManager:
    return open_manager(approval=["MAIN"])


def released(jobs: JobManager, policy: Policy = REPLACED) -> int:
    job = ended(jobs, submit(jobs, policy).number)
    assert job.result is not None, job.failure
    return job.result


def state(database: Database, number: int) -> ReleaseState:
    return Releases(database).get(number).state


def tables(session: Session) -> set[str]:
    rows = session.rows(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' "
        "OR table_name LIKE 'pending%' OR table_name LIKE 'snapshot%' "
        "UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name != 'tableveil'"
    )
    return {name for (name,) in rows}


def contents(session: Session) -> list[list[tuple[object, ...]]]:
    """The public objects' rows, in their order."""
    return [session.rows(f"FROM main.{name}") for name in OBJECTS]


def comments(session: Session, name: str = "released", schema: str = "main") -> set[tuple[str, str, str]]:
    """The comments on the objects of a release and their columns, by the end of the object's name."""
    query = (
        "SELECT schema_name, table_name, '' AS column_name, comment FROM duckdb_tables() UNION ALL "
        "SELECT schema_name, table_name, column_name, comment FROM duckdb_columns()"
    )
    rows = session.rows(f"SELECT * FROM ({query}) WHERE schema_name = ? AND comment IS NOT NULL", [schema])
    return {(of.removeprefix(name), column, words) for _, of, column, words in rows if of.startswith(name)}


def decide(jobs: JobManager, number: int, decision: Decision, target: ReleaseTarget = REPLACED.release) -> None:
    jobs.releases.decide(number, decision, lambda _: replace(LABELLED, release=target))


def refused(code: str, jobs: JobManager, number: int, decision: Decision = APPROVED) -> None:
    with pytest.raises(TableveilError) as raised:
        decide(jobs, number, decision)
    assert raised.value.code == code


def test_a_release_is_private_until_it_is_approved(jobs: JobManager, database: Database, session: Session) -> None:
    before = contents(session)
    number = released(jobs)
    assert (state(database, 1), state(database, number)) == (ReleaseState.APPROVED, ReleaseState.PENDING)
    assert contents(session) == before
    assert Releases(database).get(1).current
    assert not Releases(database).get(number).current
    with pytest.raises(ConflictError) as raised, Releases(database).read(number, "released"):
        pass
    assert raised.value.code == "RELEASE_PENDING"
    commented = comments(session, f"pending_{number}", "tableveil")
    private = [session.rows(f"FROM tableveil.pending_{number}{name.removeprefix('released')}") for name in OBJECTS]

    decide(jobs, number, APPROVED)

    assert contents(session) == private
    assert tables(session) == {"patients", *OBJECTS}
    assert comments(session) == commented != set()
    after = Releases(database).get(number)
    assert (after.current, after.state, after.decision) == (True, ReleaseState.APPROVED, APPROVED)
    assert not Releases(database).get(1).current
    with Releases(database).read(number, "released") as reader:
        assert reader.read_all().num_rows == len(private[0])
    assert {finding.level.name for finding in examine_releases(session)} == {"OK"}


@pytest.mark.parametrize("approved", once([True, False]))
def test_a_view_shows_its_snapshot_once_approved(
    jobs: JobManager, database: Database, session: Session, approved: bool
) -> None:
    target = plain_target("main", "other", ReleaseKind.VIEW)
    number = released(jobs, replace(LABELLED, release=target))
    decide(jobs, number, APPROVED if approved else REJECTED, target)
    shown = {*target.object_names, f"snapshot_{number}"}
    assert tables(session) - {"patients", *OBJECTS} == (shown if approved else set())
    assert not approved or session.value("SELECT count(*) FROM main.other") > 0


def test_a_rejected_release_leaves_nothing_but_its_evidence(
    jobs: JobManager, database: Database, session: Session
) -> None:
    before, number = contents(session), released(jobs)
    refused("REASON_MISSING", jobs, number, replace(REJECTED, note=" "))
    decide(jobs, number, REJECTED)
    assert (contents(session), tables(session)) == (before, {"patients", *OBJECTS})
    assert Releases(database).get(number).decision == REJECTED
    assert session.value("SELECT count(*) FROM tableveil.release_samples WHERE release = ?", [number]) == 0
    assert orphans(session) == []
    with pytest.raises(ConflictError, match="rejected"):
        jobs.releases.withdraw(number, "again")


@pytest.mark.parametrize("first", once([APPROVED, REJECTED]))
def test_no_decision_is_changed(jobs: JobManager, database: Database, first: Decision) -> None:
    refused("RELEASE_DECIDED", jobs, 1)
    number = released(jobs, PLAIN)
    decide(jobs, number, first)
    for second in (APPROVED, REJECTED):
        refused("RELEASE_DECIDED", jobs, number, second)
    assert Releases(database).get(number).decision == first


def test_what_is_withdrawn_is_not_approved(jobs: JobManager, database: Database) -> None:
    withdrawn = released(jobs, PLAIN)
    jobs.releases.withdraw(withdrawn, "a mistake")
    assert state(database, withdrawn) is ReleaseState.WITHDRAWN
    refused("RELEASE_DECIDED", jobs, withdrawn)


def test_nobody_approves_their_own_release(jobs: JobManager, database: Database, session: Session) -> None:
    number = released(jobs, PLAIN)
    session.execute("UPDATE tableveil.jobs SET owner = 'bob' WHERE number = (SELECT max(number) FROM tableveil.jobs)")
    again = open_jobs(database, JobSettings(approval=["main"]))
    try:
        for decision in (APPROVED, REJECTED):
            refused("OWN_RELEASE", again, number, decision)
    finally:
        again.close(10)
    assert state(database, number) is ReleaseState.PENDING


@pytest.mark.long
def test_an_older_release_never_replaces_a_newer_one(jobs: JobManager, session: Session) -> None:
    older, newer = released(jobs), released(jobs)
    decide(jobs, newer, APPROVED)
    shown = contents(session)
    refused("RELEASE_OVERTAKEN", jobs, older)
    jobs.releases.withdraw(newer, "a mistake")
    refused("RELEASE_OVERTAKEN", jobs, older)
    decide(jobs, older, REJECTED)
    assert shown


def test_what_waits_must_be_what_was_verified(jobs: JobManager, session: Session) -> None:
    before, number = contents(session), released(jobs)
    session.execute(f"INSERT INTO tableveil.pending_{number} FROM tableveil.pending_{number} LIMIT 1")
    refused("PENDING_CHANGED", jobs, number)
    assert contents(session) == before
    # The changed table stays, so that somebody can look into it.
    decide(jobs, number, REJECTED)
    assert f"pending_{number}" in tables(session)


def test_a_target_that_was_taken_meanwhile_stays_as_it_is(jobs: JobManager, session: Session) -> None:
    target = ReleaseTarget("main", "other")
    number = released(jobs, replace(LABELLED, release=target))
    session.execute("CREATE TABLE main.other AS SELECT 1 AS mine")
    with pytest.raises(ConflictError) as raised:
        decide(jobs, number, APPROVED, target)
    assert raised.value.code == "TARGET_EXISTS"
    assert session.value("SELECT mine FROM main.other") == 1
    assert state(jobs._database, number) is ReleaseState.PENDING


def test_a_copy_that_differs_is_not_made_public(
    jobs: JobManager, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, number = contents(session), released(jobs)
    marks = iter("abcdefgh")
    monkeypatch.setattr("tableveil.lifecycle.moving.mark", lambda *_: next(marks))
    with pytest.raises(InternalError):
        decide(jobs, number, APPROVED)
    assert contents(session) == before


@pytest.mark.long
def test_utility_of_a_release_that_waits_can_be_seen(jobs: JobManager, database: Database) -> None:
    number = released(jobs)
    work = utility_report_work(number, "{}", lambda _: REPLACED)
    assert ended(jobs, jobs.submit(work).number).failure is None


@pytest.mark.parametrize(
    ("schema", "found"), once([("other", ReleaseState.APPROVED), ("*", ReleaseState.PENDING)], several=True)
)
def test_other_schemas_need_no_approval(
    open_manager: Open, database: Database, schema: str, found: ReleaseState
) -> None:
    assert state(database, released(open_manager(approval=[schema]), PLAIN)) is found
