"""Releases are taken back: what they wrote goes, what became of it stays, and nothing of anybody else's is touched."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tableveil.backend import Database, Session
from tableveil.convert import stored_policy
from tableveil.errors import ConflictError, InvalidError, NotFoundError
from tableveil.lookups import Releases
from tableveil.pipelines.utility_report import utility_report_work
from tableveil.policy import IfExists, ReleaseKind, ReleaseTarget, Role, TableReference
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.runtime import JobManager
from tableveil.state.jobs import JobState
from tests.migrated import passing
from tests.once import once
from tests.service.jobs.managed import LABELLED, Gate, Open, ended, submit, to

OBJECTS = {*LABELLED.release.object_names}


RELEASED = TableReference("", "main", "released")

RELEASE = 1
"""The number of the release that every test's database has."""


@pytest.fixture
def database(tmp_path: Path, released_once: Path) -> Iterator[Database]:
    yield from passing(tmp_path / "test.duckdb", released_once)


def released(jobs: JobManager, target: ReleaseTarget) -> int:
    """The number of another release."""
    job = ended(jobs, submit(jobs, replace(LABELLED, release=target)).number)
    assert job.result is not None, job.failure
    return job.result


def names(session: Session) -> set[str]:
    """Everything that is in any schema but the state's own tables."""
    rows = session.rows(
        "SELECT table_name FROM duckdb_tables() "
        "WHERE schema_name != 'tableveil' OR starts_with(table_name, 'snapshot_') "
        "UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name != 'tableveil'"
    )
    return {name for (name,) in rows}


@pytest.mark.parametrize("kind", once(ReleaseKind))
def test_objects_go_and_evidence_stays(
    jobs: JobManager, database: Database, session: Session, kind: ReleaseKind
) -> None:
    number = RELEASE
    if kind is ReleaseKind.VIEW:
        number = released(jobs, ReleaseTarget("main", "released", kind, IfExists.REPLACE))
    before = Releases(database).get(number)
    assert names(session) > OBJECTS
    jobs.releases.withdraw(number, "a mistake")
    assert names(session) == {"patients"}
    after = Releases(database).get(number)
    assert after.withdrawal is not None
    assert (after.withdrawal.reason, after.withdrawal.kept_objects) == ("a mistake", ())
    assert not after.current
    assert replace(after, current=True, withdrawal=None) == before
    with pytest.raises(ConflictError) as raised, Releases(database).read(number, "released"):
        pass
    assert raised.value.code == "RELEASE_WITHDRAWN"


def test_estimated_tables_are_exported_and_go_with_their_release(
    jobs: JobManager, database: Database, session: Session
) -> None:
    target = ReleaseTarget("main", "released", if_exists=IfExists.REPLACE, estimates=True)
    number = released(jobs, target)
    made = {target.estimated_name, *target.spread_names}
    assert len(made) == 5
    assert names(session) > made
    for name in made:
        with Releases(database).read(number, name) as rows:
            assert rows is not None
    jobs.releases.withdraw(number, "a mistake")
    assert names(session) == {"patients"}


def test_withdrawing_twice_changes_nothing(jobs: JobManager, database: Database, session: Session) -> None:
    jobs.releases.withdraw(RELEASE, "first")
    noted = Releases(database).get(RELEASE)
    session.execute("CREATE TABLE released AS SELECT 1 AS mine")
    jobs.releases.withdraw(RELEASE, "second")
    assert Releases(database).get(RELEASE) == noted
    assert session.value("SELECT mine FROM released") == 1


def test_the_ledger_still_counts_it(jobs: JobManager) -> None:
    jobs.releases.withdraw(RELEASE, "a mistake")
    with pytest.raises(InvalidError) as raised:
        submit(jobs, replace(LABELLED, repeat_reason=""))
    assert raised.value.code == "REPEATED_RELEASE"
    # But its place is free.
    released(jobs, LABELLED.release)


@pytest.mark.parametrize(
    ("change", "kept"),
    once(
        [
            ("UPDATE released SET illness = 'mine' WHERE rowid = 0", ("released",)),
            ("DELETE FROM released_classes", ("released_classes",)),
            ("DROP TABLE released; CREATE VIEW released AS SELECT 1 AS mine", ("released",)),
            ("ALTER TABLE released RENAME COLUMN illness TO diagnosis", ("released",)),
            ("DROP TABLE released_risk", ()),
            ("ALTER TABLE released_risk RENAME TO kept_by_its_owner", ()),
        ],
        3,
        several=True,
    ),
)
def test_what_somebody_changed_is_kept(
    jobs: JobManager, database: Database, session: Session, change: str, kept: tuple[str, ...]
) -> None:
    session.execute(change)
    there = names(session)
    jobs.releases.withdraw(RELEASE, "a mistake")
    withdrawal = Releases(database).get(RELEASE).withdrawal
    assert withdrawal is not None
    assert withdrawal.kept_objects == kept
    assert names(session) == (there - OBJECTS) | set(kept)


def test_views_of_others_are_not_broken(jobs: JobManager, session: Session) -> None:
    session.execute('CREATE SCHEMA "their own"')
    session.execute('CREATE VIEW "their own".counts AS WITH r AS (FROM main.Released) SELECT count(*) AS n FROM r')
    session.execute("CREATE VIEW beside AS SELECT 'released' AS text FROM patients")
    with pytest.raises(ConflictError) as raised:
        jobs.releases.withdraw(RELEASE, "a mistake")
    assert raised.value.code == "RELEASE_HAS_DEPENDANTS"
    (fault,) = raised.value.faults
    assert "'counts'" in fault.found
    assert session.value('SELECT n FROM "their own".counts') == 30
    session.execute('DROP VIEW "their own".counts')
    jobs.releases.withdraw(RELEASE, "a mistake")
    assert names(session) == {"patients", "beside"}


def test_only_what_is_there_can_be_withdrawn(jobs: JobManager) -> None:
    released(jobs, ReleaseTarget("main", "released", if_exists=IfExists.REPLACE))
    for number, reason, error, code in (
        (4711, "a mistake", NotFoundError, "RELEASE_NOT_FOUND"),
        (RELEASE, "a mistake", ConflictError, "RELEASE_REPLACED"),
        (RELEASE, " ", InvalidError, "REASON_MISSING"),
        (RELEASE, "\u200b", InvalidError, "REASON_MISSING"),
    ):
        with pytest.raises(error) as raised:
            jobs.releases.withdraw(number, reason)
        assert raised.value.code == code


def test_not_while_a_job_uses_it(open_manager: Open, gate: Gate) -> None:
    one = open_manager(concurrent_jobs=1)
    busy = submit(one, to("busy"))
    gate.wait_for(1)
    replacing = replace(LABELLED, release=ReleaseTarget("main", "released", if_exists=IfExists.REPLACE))
    users: list[Callable[[], int]] = [
        lambda: submit(one, replacing).number,
        lambda: submit(one, to("other", source=RELEASED, default_role=Role.IDENTIFYING)).number,
        lambda: one.submit(utility_report_work(RELEASE, "{}", stored_policy)).number,
        lambda: submit(one, to("next", methods=(LocalRecoding(classes_of=RELEASE),))).number,
    ]
    for use in users:
        user = use()
        with pytest.raises(ConflictError) as raised:
            one.releases.withdraw(RELEASE, "a mistake")
        assert raised.value.code == "RELEASE_IN_USE"
        assert f"jobs/{user}" in raised.value.faults[0].found
        assert one.cancel(user).state is JobState.CANCELLED
    one.cancel(busy.number)
    one.releases.withdraw(RELEASE, "a mistake")


def test_a_query_that_reads_it_uses_it(open_manager: Open, gate: Gate) -> None:
    one = open_manager(concurrent_jobs=1)
    query = "SELECT p.age, p.ward, p.illness FROM patients p SEMI JOIN Released USING (illness)"
    reading = submit(one, replace(to("other"), source=TableReference("", "", ""), source_query=query))
    gate.wait_for(1)
    with pytest.raises(ConflictError) as raised:
        one.releases.withdraw(RELEASE, "a mistake")
    assert f"jobs/{reading.number}" in raised.value.faults[0].found
    one.cancel(reading.number)
    assert ended(one, reading.number).state is JobState.CANCELLED
    one.releases.withdraw(RELEASE, "a mistake")
