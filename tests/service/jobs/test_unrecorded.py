"""A job whose end the database cannot record: its watchers end all the same, and the next job runs."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.errors import InternalError
from tableveil.hierarchy import SuppressionOnly
from tableveil.pipelines.anonymize import release_work
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.runtime import JobManager
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
    manager = JobManager(database, concurrent_jobs=1)
    try:
        monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", _fail)
        failed = manager.submit(release_work(policy("first"), "{}"))
        assert [*manager.watch(failed.number, lambda: False)][-1].state is JobState.FAILED
        monkeypatch.undo()
        # Its target is free again, and its worker is alive.
        again = manager.submit(release_work(policy("first"), "{}"))
        assert [*manager.watch(again.number, lambda: False)][-1].state is JobState.SUCCEEDED
    finally:
        manager.close(5)
        database.close()


def _fail(*_: object) -> int:
    raise InternalError("BROKEN", "broken on purpose")
