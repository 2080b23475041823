"""A database file with Tableveil's state in it, and the run of one job on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.jobs.report import Report
from tableveil.jobs.run import run_job
from tableveil.policy import Policy
from tableveil.search import Control
from tableveil.state import jobs, releases
from tableveil.state.migrate import migrate
from tableveil.state.releases import Release


def opened(path: Path) -> Iterator[Database]:
    database = Database(Settings(path, threads=2))
    with database.session() as session:
        migrate(session)
    yield database
    database.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    yield from opened(tmp_path / "test.duckdb")


@pytest.fixture(scope="module")
def shared_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all tests of a file that override `database` with it: opening one takes longer than most tests."""
    yield from opened(tmp_path_factory.mktemp("shared") / "test.duckdb")


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    """A session to set tables up and to read them back by plain SQL."""
    with database.session() as found:
        yield found


@pytest.fixture(scope="session")
def run() -> Callable[..., Release]:
    """Runs a job on a database, as a worker does, and returns the release as the ledger has it."""

    def run_on(database: Database, policy: Policy, report: Report | None = None, document: str = "{}") -> Release:
        with database.session() as own:
            own.control = Control()
            number = jobs.next_number(own)
            source, target = policy.source, policy.release
            request = jobs.Request(
                number, policy.request_id, document, "", source, target.schema, target.name, jobs.now(own)
            )
            jobs.insert_request(own, request)
            release = run_job(database, own, number, policy, document, report or Report())
        with database.session() as other:
            found = releases.find(other, release)
        assert found is not None
        return found

    return run_on
