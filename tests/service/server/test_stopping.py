"""A server that is stopped in the middle of work: all of it ends in time, whatever it is and however far it is."""

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tableveil.backend.session import Session
from tableveil.client import Client
from tableveil.control import Control
from tableveil.control.current_job import job_at_hand
from tableveil.errors import TableveilError
from tableveil.runtime.recorder import JobRecorder
from tableveil.server import ServeSettings, TableveilServer
from tableveil.serving import settings
from tableveil.serving.settings import STOP_SECONDS
from tableveil.state.jobs import JobPhase
from tests import work

pytestmark = pytest.mark.long

SECONDS = 60.0
"""How long what hangs does so, unless it is interrupted; a server that waits for it is late."""

# Nothing makes them slow: they read no rows of users.
OWN = ("tableveil.", "duckdb_", "BEGIN", "COMMIT", "ROLLBACK", "current_database")
"""Parts of statements on the server's own tables."""

CALLS = work.CALLS | {"a submission": work.JOBS["a release"]}


class Hanging:
    """Lets each job hang as soon as it comes to a phase, and each call in the middle of its statements.

    Work hangs in a statement on rows of users, or where it asks whether to stop: it goes on once it is told so.
    """

    def __init__(self) -> None:
        self.phase: JobPhase | None = None
        self.statement: int | None = None
        """Calls hang in the statement of this number."""
        self.phases: dict[int, list[JobPhase]] = {}
        self.hung: set[int] = set()
        """Numbers of jobs, and identities of the threads of calls."""
        self._seen: Counter[int] = Counter()

    def is_due(self) -> bool:
        """Whether the running thread is to hang now; it does so once."""
        job = job_at_hand()
        if job is None:
            worker = -threading.get_ident()
            self._seen[worker] += self.statement is not None
            is_due = self._seen[worker] == self.statement
        else:
            worker = job
            is_due = job not in self.hung and self.phases.get(job, [])[-1:] == [self.phase]
        if is_due:
            self.hung.add(worker)
        return is_due


class Cursor:
    """A cursor whose statements may hang until they are interrupted."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, hanging: Hanging) -> None:
        self._cursor, self._hanging = cursor, hanging
        self._interrupted = threading.Event()

    def execute(self, text: str, parameters: Sequence[object] = ()) -> object:
        self._interrupted.clear()
        reads_rows = not any(part in text for part in OWN)
        if reads_rows and self._hanging.is_due() and self._interrupted.wait(SECONDS):
            raise duckdb.InterruptException("interrupted")
        return self._cursor.execute(text, parameters)

    def interrupt(self) -> None:
        self._interrupted.set()
        self._cursor.interrupt()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Hanging:
    """From now on what works for jobs and calls may hang."""
    hanging = Hanging()
    make, asked, phase_of = Session.__init__, vars(Control)["must_stop"].fget, JobRecorder.phase

    def session(self: Session, cursor: Any, *others: Any) -> None:
        make(self, Cursor(cursor, hanging), *others)  # type: ignore[arg-type]

    def must_stop(self: Control) -> bool:
        if job_at_hand() is not None and hanging.is_due():
            self._cancelled.wait(SECONDS)
        return bool(asked(self))

    def phase(self: JobRecorder, phase: JobPhase) -> None:
        phase_of(self, phase)
        hanging.phases.setdefault(self._number, []).append(phase)

    monkeypatch.setattr(Session, "__init__", session)
    monkeypatch.setattr(Control, "must_stop", property(must_stop))
    monkeypatch.setattr(JobRecorder, "phase", phase)
    monkeypatch.setattr(settings, "CHECKS_AT_ONCE", len(CALLS))
    return hanging


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a release."""
    path = tmp_path_factory.mktemp("stopping") / "clinic.duckdb"
    work.create(path)
    server = TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=1))
    try:
        with Client(server.address) as client:
            client.wait(str(work.JOBS["a release"](client, "released")))
    finally:
        server.close()
    return path


@pytest.fixture
def serve(database: Path, tmp_path: Path) -> Iterator[Callable[[], TableveilServer]]:
    """Starts a server on a copy of the database."""
    servers = []

    def start() -> TableveilServer:
        path = Path(shutil.copy(database, tmp_path))
        servers.append(
            TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=1, concurrent_jobs=len(work.JOBS)))
        )
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def stop(server: TableveilServer) -> None:
    """Stops it: all that it does ends by itself, in time."""
    began = time.monotonic()
    assert server.close()
    assert time.monotonic() - began < STOP_SECONDS


def until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# Jobs that write releases do so one after the other.
@pytest.mark.parametrize(
    ("phase", "titles"),
    [(phase, tuple(work.JOBS)) for phase in JobPhase]
    + [(JobPhase.VERIFYING, (title,)) for title in ("a view", "microaggregation", "record level")],
    ids=lambda value: value if isinstance(value, str) else value[0] if len(value) == 1 else "all",
)
def test_a_stop_ends_jobs_in_each_phase(
    serve: Callable[[], TableveilServer], tmp_path: Path, hanging: Hanging, phase: JobPhase, titles: tuple[str, ...]
) -> None:
    server = serve()
    hanging.phase = phase
    with Client(server.address) as client:
        jobs = {int(str(work.JOBS[title](client, f"made_{i}")).split("/")[1]) for i, title in enumerate(titles)}

        def waits_or_ended(job: int) -> bool:
            waits = phase is JobPhase.VERIFYING and hanging.hung and hanging.phases[job][-1:] == [JobPhase.WRITING]
            return bool(waits) or client.get_job(f"jobs/{job}").HasField("end_time")

        until(lambda: all(job in hanging.hung or waits_or_ended(job) for job in jobs))
    stop(server)
    assert hanging.hung
    # No phase goes by in which a job neither asks nor can be interrupted.
    assert not [job for job in jobs - hanging.hung if phase in hanging.phases[job]]
    with duckdb.connect(tmp_path / "clinic.duckdb", read_only=True) as connection:
        query = "SELECT job, state FROM tableveil.job_outcomes WHERE job = ANY(?)"
        states = dict(connection.execute(query, [list(jobs)]).fetchall())
    assert set(states) == jobs
    assert {states[job] for job in hanging.hung} == {"INTERRUPTED"}


@pytest.mark.parametrize("statement", [1, 5, 15])
def test_a_stop_ends_calls(serve: Callable[[], TableveilServer], hanging: Hanging, statement: int) -> None:
    server = serve()
    hanging.statement = statement

    def call(asked: work.Work) -> None:
        with Client(server.address) as client, suppress(TableveilError):
            asked(client, f"made_{id(asked)}")

    calls = [threading.Thread(target=call, args=(asked,)) for asked in CALLS.values()]
    for thread in calls:
        thread.start()
    until(lambda: len(hanging.hung) >= sum(thread.is_alive() for thread in calls))
    assert hanging.hung
    stop(server)
    for thread in calls:
        thread.join(SECONDS)
