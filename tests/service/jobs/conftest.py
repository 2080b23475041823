"""A database file with Tableveil's state in it, and the run of one job on it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.dry_run import run_dry_run
from tableveil.pipelines.work import JobReport
from tableveil.policy import Policy
from tableveil.runtime import JobManager, open_jobs
from tableveil.state import jobs as store
from tableveil.state.dry_runs import DRY_RUNS, DryRun
from tableveil.state.releases import RELEASES, Release
from tests.migrated import opened, passing
from tests.service.jobs.contexts import context
from tests.service.jobs.managed import LABELLED, SECONDS, Gate, Open, create_patients, ended, open_with, submit
from tests.tried import tried_here
from tests.warned import of_nothing, unfilled


@pytest.fixture(scope="module", autouse=True)
def queries_tried_here() -> Iterator[None]:
    """No query is tried in a process of its own."""
    with tried_here():
        yield


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    yield from passing(tmp_path / "test.duckdb")


@pytest.fixture(scope="module")
def shared_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all tests of a file that override `database` with it: opening one takes longer than most tests."""
    yield from passing(tmp_path_factory.mktemp("shared") / "test.duckdb")


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    """A session to set tables up and to read them back by plain SQL."""
    with database.session() as found:
        yield found


@pytest.fixture(scope="session")
def run() -> Callable[..., Release]:
    """Runs a job on a database, as a worker does, and returns the release as the ledger has it."""

    def run_on(database: Database, policy: Policy, report: JobReport | None = None, document: str = "{}") -> Release:
        with database.session() as own:
            own.control = Control()
            number = store.next_number(own.ledger)
            source, target = policy.source, policy.release
            request = store.Request(number, "", document, "", source, target.schema, target.name, store.now())
            store.insert_request(own.ledger, request)
            release = anonymize(context(own, database, number, report, document), policy)
        with database.session() as other:
            found = RELEASES.find(other.ledger, release)
        assert found is not None
        assert of_nothing(found.warnings) == []
        assert unfilled(found.warnings) == []
        return found

    return run_on


@pytest.fixture
def tried(database: Database) -> Callable[..., DryRun]:
    """Dry runs of a policy."""

    def dry_run(policy: Policy, control: Control | None = None) -> DryRun:
        with database.session() as own:
            own.control = control or Control()
            number = store.next_number(own.ledger)
            source, target = policy.source, policy.release
            request = store.Request(number, "", "{}", "", source, target.schema, target.name, store.now())
            store.insert_request(own.ledger, request)
            found = DRY_RUNS.find(own.ledger, run_dry_run(context(own, database, number), policy))
        assert found is not None
        assert of_nothing(found.warnings) == []
        assert unfilled(found.warnings) == []
        return found

    return dry_run


@pytest.fixture
def patients(session: Session) -> None:
    create_patients(session)


@pytest.fixture(scope="session")
def released_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file in which the patients were released once, by a job, to be copied."""
    path = tmp_path_factory.mktemp("released") / "test.duckdb"
    for database in opened(path):
        with database.session() as session:
            create_patients(session)
        manager = open_jobs(database)
        assert ended(manager, submit(manager, LABELLED).number).result == 1
        manager.close(SECONDS)
    return path


@pytest.fixture
def path(tmp_path: Path, released_once: Path) -> Path:
    """A copy of it for a test that opens it itself."""
    shutil.copyfile(released_once, tmp_path / "released.duckdb")
    return tmp_path / "released.duckdb"


@pytest.fixture
def open_manager(database: Database) -> Iterator[Open]:
    """Opens managers of the database; all are closed in the end."""
    opened: list[JobManager] = []

    def open_one(**options: Any) -> JobManager:
        opened.append(open_with(database, **options))
        return opened[-1]

    yield open_one
    for found in opened:
        found.close(SECONDS)


@pytest.fixture
def jobs(open_manager: Open) -> JobManager:
    return open_manager()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr("tableveil.pipelines.anonymize.anonymize", gate.run)
    yield gate
    gate.open.set()
