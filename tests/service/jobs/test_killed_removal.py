"""A server killed at any statement of a withdrawal, a deletion or a decision: nothing of it was done, or all."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.convert import stored_policy
from tableveil.lifecycle import decide, withdraw
from tableveil.lookups.releases import Releases
from tableveil.pipelines.risk_analysis import risk_analysis_work
from tableveil.policy import ReleaseKind, ReleaseTarget, TableReference
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.runtime import JobSettings, open_jobs
from tableveil.state import removal
from tableveil.state.decisions import Decision
from tableveil.state.jobs import JobKind, now
from tests.migrated import opened
from tests.service.jobs.managed import LABELLED, PATIENTS, SECONDS, ended, submit

pytestmark = pytest.mark.long

State = dict[str, int]
"""Every table and view, those of the state included, with its number of rows."""

RELEASE, ANALYSIS = 1, 2
"""The numbers of a release's job and of that of a risk analysis; the release has that number as well."""
PENDING = 2
"""The number of a release that waits for approval."""
WAITS = ReleaseTarget("held", "released")


def withdrawn(database: Database) -> None:
    withdraw(database, Releases(database).get(RELEASE), "a mistake")


def deleted(database: Database) -> None:
    with database.ledger() as ledger:
        removal.delete_job(ledger, ANALYSIS, JobKind.RISK_ANALYSIS)


def decided(database: Database, *, approved: bool) -> None:
    decide(database, PENDING, WAITS, Decision(approved, "bob", now(), "a note"))


REMOVALS: Mapping[str, Callable[[Database], None]] = {
    "withdrawn": withdrawn,
    "deleted": deleted,
    "approved": partial(decided, approved=True),
    "rejected": partial(decided, approved=False),
}


def killed_everywhere(directory: str, name: str) -> None:
    """Does it again and again on copies, each time killed one statement later, until it is done.

    Not for a process that has threads. Copy i is called i.duckdb. Each is opened by a process of its own, forked while
    nothing is open.
    """
    files = Path(directory)
    for position in range(1000):
        copy = files / f"{position}.duckdb"
        shutil.copyfile(files / "original.duckdb", copy)
        if not (process := os.fork()):
            _kill_at(position)
            database = Database(Settings(copy, threads=1))
            REMOVALS[name](database)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0:
            return


def _kill_at(position: int) -> None:
    """Ends this process, without any clearing up, right after so many statements; a commit is one."""
    left = position

    def counting(function: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **options: object) -> object:
            nonlocal left
            if left == 0:
                os._exit(9)
            left -= 1
            return function(*arguments, **options)

        return called

    # Statements that only read are left out, except those after the commit.
    for method in ("execute", "_unguarded", "close"):
        setattr(Session, method, counting(getattr(Session, method)))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a released view and a risk analysis."""
    path = tmp_path_factory.mktemp("killed") / "original.duckdb"
    for database in opened(path):
        jobs = open_jobs(database, JobSettings(1, approval=["held"]))
        with database.session() as session:
            session.execute("CREATE SCHEMA held")
            session.execute(
                "CREATE TABLE patients AS SELECT 20 + i % 3 AS age, i % 2 AS ward, 'illness ' || i % 5 AS illness "
                f"FROM range({PATIENTS}) r(i)"
            )
        target = ReleaseTarget("main", "released", ReleaseKind.VIEW)
        analysis = RiskRequest(TableReference("", "main", "patients"), None, ("age", "ward"), records=True)
        assert ended(jobs, submit(jobs, replace(LABELLED, release=target)).number).result == RELEASE
        assert ended(jobs, jobs.submit(risk_analysis_work(analysis, "{}", stored_policy)).number).failure is None
        assert ended(jobs, submit(jobs, replace(LABELLED, release=WAITS)).number).result == PENDING
        jobs.close(SECONDS)
    return path


def state(path: Path) -> State:
    database = Database(Settings(path, threads=1))
    with database.session() as session:
        names = session.rows(
            "SELECT schema_name, table_name FROM duckdb_tables() "
            "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        )
        counts = [f"SELECT '{schema}.{name}', count(*) FROM {schema}.{name}" for schema, name in names]
        found: State = dict(session.rows(" UNION ALL ".join(counts)))
    database.close()
    return found


def is_copy(path: Path, original: Path) -> bool:
    """Whether nothing was written, so that there is no need to open it."""
    return not path.with_name(f"{path.name}.wal").exists() and path.read_bytes() == original.read_bytes()


@pytest.fixture(scope="module")
def killed(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copies of each removal, in a directory of its name; one process makes all, as importing takes longer."""
    place = tmp_path_factory.mktemp("copies")
    for name in REMOVALS:
        (place / name).mkdir()
        shutil.copyfile(original, place / name / "original.duckdb")
    call = "from tests.service.jobs.test_killed_removal import *\n"
    call += f"for name in REMOVALS: killed_everywhere({str(place)!r} + '/' + name, name)"
    subprocess.run([sys.executable, "-c", call], check=True)
    return place


def test_killed_at_every_statement(original: Path, killed: Path) -> None:
    before = state(original)
    for name in REMOVALS:
        copies = sorted((killed / name).glob("[0-9]*.duckdb"), key=lambda path: int(path.stem))
        found = [before if is_copy(path, original) else state(path) for path in copies]
        done = found[-1]
        gone = {"withdrawn": "main.released", "deleted": "tableveil.record_risks_1"}.get(name, "tableveil.pending_2")
        assert gone in before, name
        assert gone not in done, name
        assert all(after in (before, done) for after in found), name
        # Some were killed within the transaction, and at least one after it.
        assert found.count(before) > 4, name
        assert found.count(done) > 1, name
