"""Databases of every earlier version, brought up to date: what they had is read as what it was, and work goes on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.policy import TableReference
from tableveil.source.sketch import Sample, Sketch
from tableveil.state import (
    classifications,
    frontiers,
    hierarchies,
    jobs,
    payout_sweeps,
    releases,
    risk_analyses,
    sketches,
    utility_reports,
)
from tableveil.state.jobs import JobKind, JobState, Outcome, Request
from tableveil.state.migrate import fingerprint_key, migrate, migrations
from tests.sql.state.versions import at_version

NOW = len(migrations())

Definitions = list[tuple[str, str, str, bool, str | None]]


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Session]:
    database = Database(Settings(tmp_path / "db.duckdb", threads=2))
    with database.session() as session:
        yield session
    database.close()


def definitions(session: Session) -> Definitions:
    """Every column of the state: tables of all versions must be alike in the end, in the order of columns too."""
    return session.rows(
        "SELECT table_name, column_name, data_type, is_nullable, column_default FROM duckdb_columns() "
        "WHERE schema_name = 'tableveil' AND table_name NOT LIKE 'hierarchy\\_%' ESCAPE '\\' ORDER BY 1, column_index"
    )


@pytest.fixture(scope="module")
def new_definitions(tmp_path_factory: pytest.TempPathFactory) -> Definitions:
    database = Database(Settings(tmp_path_factory.mktemp("new") / "new.duckdb", threads=2))
    with database.session() as session:
        migrate(session)
        found = definitions(session)
    database.close()
    return found


@pytest.mark.parametrize("version", range(1, NOW + 1))
def test_what_a_version_wrote_is_read_by_this_one(fresh: Session, version: int, new_definitions: Definitions) -> None:
    at_version(fresh, version)
    migrate(fresh)

    assert fresh.value("SELECT max(number) FROM tableveil.migrations") == NOW
    assert fingerprint_key(fresh) == b"k"
    _check_jobs(fresh, version)
    _check_results(fresh, version)
    stored, _ = fresh.rows("SELECT name, version FROM tableveil.hierarchies"), None
    assert stored == [("zip", 1)]
    assert [(found.name, found.version) for found in hierarchies.page(fresh, ("", 0), 9)] == [("zip", 1)]
    _check_new_work(fresh)

    assert definitions(fresh) == new_definitions


def _check_jobs(session: Session, version: int) -> None:
    (job,) = jobs.find_all(session, [3])
    assert (job.request.request_id, job.request.kind, job.request.options) == ("r-3", JobKind.RELEASE, "")
    assert job.started_at == datetime(2026, 1, 1, 0, 0, 1)
    assert job.last_event is not None
    assert (job.last_event.checked, job.last_event.best_score) == (8, 0.5)
    assert job.outcome == Outcome(JobState.SUCCEEDED, datetime(2026, 1, 2), 7, None, ("careful",))
    assert jobs.unfinished(session) == [4]
    assert jobs.find_request(session, "r-3") == job.request
    if version >= 3:
        asked = jobs.find_request(session, "r-5", JobKind.FRONTIER)
        assert asked is not None
        assert (asked.kind, asked.options) == (JobKind.FRONTIER, '{"k":[2,5],"suppression_limits":["0","0.05"]}')
        (job,) = jobs.find_all(session, [5])
        assert job.outcome is not None
        assert job.outcome.result == 1


def _check_results(session: Session, version: int) -> None:
    release = releases.find(session, 7)
    assert release is not None
    assert (release.score, release.target_name, release.source) == (0.5, "released", TableReference("db", "main", "t"))
    assert release.current == (version < 12)
    assert [(item.name, item.row_count) for item in release.objects] == [("released", 95)]
    (attribute,) = release.attributes
    assert (attribute.column, attribute.level, attribute.loss) == ("age", 1, 0.5)
    assert attribute.levels == (((0, 40), (1, 55)) if version >= 8 else ())
    assert releases.earlier_releases(session, [TableReference("db", "main", "t")], None) == [7]
    sample = Sample("a", 0, np.array([2**56], np.uint64), np.array([100]))
    assert [found.release for found in sketches.alike(session, Sketch(100, (sample,)), [])] == [7] * (version >= 18)
    for since, store in (
        (3, frontiers),
        (6, payout_sweeps),
        (7, risk_analyses),
        (9, classifications),
        (10, utility_reports),
    ):
        found = store.find(session, 1)
        assert (found is not None) == (version >= since)
    if version >= 3:
        frontier = frontiers.find(session, 1)
        assert frontier is not None
        assert [(point.k, str(point.suppression_limit)) for point in frontier.points] == [(2, "0"), (5, "0.05")]


def _check_new_work(session: Session) -> None:
    """Numbers go on, and a job can be stored from its request to its end."""
    number = jobs.next_number(session)
    assert number == 11
    source = TableReference("db", "main", "t")
    request = Request(number, "r-11", "{}", "d", source, "main", "x", datetime(2026, 2, 1))
    jobs.insert_request(session, request)
    jobs.insert_event(session, number, jobs.Event(datetime(2026, 2, 1), jobs.JobPhase.READING))
    jobs.insert_outcome(session, number, Outcome(JobState.FAILED, datetime(2026, 2, 1), None, "{}"))
    (found,) = jobs.find_all(session, [number])
    assert (found.request, found.outcome) == (request, Outcome(JobState.FAILED, datetime(2026, 2, 1), None, "{}"))
    assert jobs.page(session, None, 1) == [number]
