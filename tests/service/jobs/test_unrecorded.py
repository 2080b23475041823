"""A job whose end the database cannot record: its watchers end all the same, and the next job runs."""

import threading
import time
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Ledger, Session, Settings
from tableveil.errors import InternalError
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.pipelines.anonymize import release_work
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.runtime import JobSettings, open_jobs
from tableveil.state import jobs as store
from tableveil.state.jobs import JobState, Outcome


def policy(name: str) -> Policy:
    return Policy(
        source=TableReference("", "main", "people"),
        attributes=(AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly()),),
        person_column=None,
        privacy_models=(KAnonymity(2),),
        release=ReleaseTarget("main", name),
        repeat_reason="a test",
    )


def test_a_job_that_cannot_be_recorded_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "test.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT range % 3 AS age FROM range(30)")
    insert = store.insert_outcome

    def refuse_failures(session: Session, job: int, outcome: Outcome) -> None:
        if outcome.state is JobState.FAILED:
            raise InternalError("DATABASE_ERROR", "the database refused a statement")
        insert(session.ledger, job, outcome)

    monkeypatch.setattr(store, "insert_outcome", refuse_failures)
    database = Database(Settings(path))
    manager = open_jobs(database, JobSettings(1))
    try:
        monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", _fail)
        failed = manager.submit(release_work(policy("first"), "{}"))
        assert [*manager.watch(failed.number, lambda: False)][-1].state is JobState.FAILED
        deleted = manager.submit(release_work(policy("second"), "{}"))
        assert [*manager.watch(deleted.number, lambda: False)][-1].state is JobState.FAILED
        manager.delete(deleted.number)
        monkeypatch.undo()
        # Its target is free again, and its worker is alive, which makes up for what could not be recorded.
        again = manager.submit(release_work(policy("first"), "{}"))
        assert [*manager.watch(again.number, lambda: False)][-1].state is JobState.SUCCEEDED
        until = time.monotonic() + 60
        while outcomes(database) != {failed.number: "FAILED", again.number: "SUCCEEDED"}:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert (job := manager.get(failed.number)).failure is not None
        assert job.failure.code == "BROKEN"
        # The last one is recorded when the server stops.
        monkeypatch.setattr(store, "insert_outcome", refuse_failures)
        monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", _fail)
        last = manager.submit(release_work(policy("last"), "{}"))
        assert [*manager.watch(last.number, lambda: False)][-1].state is JobState.FAILED
        monkeypatch.undo()
        manager.close(5)
        assert outcomes(database)[last.number] == "FAILED"
    finally:
        manager.close(5)
        database.close()


def outcomes(database: Database) -> dict[int, str]:
    with database.session() as session:
        return dict(session.rows("SELECT job, state FROM tableveil.job_outcomes"))


def _fail(*_: object, **__: object) -> int:
    raise InternalError("BROKEN", "broken on purpose")


def test_a_job_that_is_deleted_while_it_is_recorded_stays_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "test.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT range % 3 AS age FROM range(30)")
    insert, tried = store.insert_outcome, 0
    database = Database(Settings(path))
    manager = open_jobs(database, JobSettings(1))
    deleting = threading.Thread(target=lambda: manager.delete(1))

    def recorded_late(ledger: Ledger, job: int, outcome: Outcome) -> None:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise InternalError("DATABASE_ERROR", "the database refused a statement")
        deleting.start()
        deleting.join(0.5)
        insert(ledger, job, outcome)

    monkeypatch.setattr(store, "insert_outcome", recorded_late)
    monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", _fail)
    try:
        failed = manager.submit(release_work(policy("first"), "{}"))
        assert [*manager.watch(failed.number, lambda: False)][-1].state is JobState.FAILED
        manager.close(5)
        deleting.join(5)
        assert tried == 2
        assert outcomes(database) == {}
    finally:
        manager.close(5)
        database.close()
