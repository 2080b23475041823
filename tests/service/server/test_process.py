"""The server as a process: it says when it is ready, ends when asked, and names what keeps it from starting."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import grpc
import pytest

from tableveil.errors import BusyError, TableveilError
from tableveil.server import ServeSettings, TableveilServer
from tableveil.v1 import job_service_pb2, job_service_pb2_grpc, table_service_pb2, table_service_pb2_grpc
from tests import authenticated
from tests.service.client.samples import policy

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]

SECONDS = 60
"""How long a test waits for what should take a few."""

Process = subprocess.Popen[str]
Launch = Callable[..., Process]

# The start of the server as the command line does it, without the command line.
PROGRAM = """
import sys
from pathlib import Path
from tableveil.errors import TableveilError
from tableveil.server import ServeSettings, run_server
from tests.authenticated import use_one_token
use_one_token()
try:
    sys.exit(run_server(ServeSettings(Path(sys.argv[1]), (sys.argv[2],))))
except TableveilError as error:
    print(error.code, file=sys.stderr)
    sys.exit(2)
"""


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Starts servers on a database, and kills those that are left or that a test waits for in vain."""
    started: list[Process] = []
    watchdogs: list[threading.Timer] = []

    def launch(database: str = "clinic.duckdb", address: str = "127.0.0.1:0", program: str = PROGRAM) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / database), address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
        )
        started.append(process)
        watchdogs.append(threading.Timer(3 * SECONDS, process.kill))
        watchdogs[-1].start()
        return process

    yield launch
    for watchdog in watchdogs:
        watchdog.cancel()
    for process in started:
        process.kill()
        process.communicate()


def address_of(process: Process) -> str:
    """Waits for the line that says the server is ready."""
    assert process.stdout is not None
    match = re.fullmatch(r"Tableveil \S.* serves (.+) on (\S+)\n", process.stdout.readline())
    assert match is not None
    return match[2]


def jobs_at(address: str) -> job_service_pb2.ListJobsResponse:
    with authenticated.channel(address) as channel:
        return job_service_pb2_grpc.JobServiceStub(channel).ListJobs(job_service_pb2.ListJobsRequest(), timeout=SECONDS)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serves_until_told_to_stop(launch: Launch, tmp_path: Path, number: signal.Signals) -> None:
    process = launch()
    assert jobs_at(address_of(process)).jobs == []
    process.send_signal(number)
    _, log = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert log.rstrip().endswith("stopped")
    left = [".clinic.duckdb.ledger", ".clinic.duckdb.token", "clinic.duckdb", "clinic.duckdb.audit.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left, "no spill, no write-ahead log"


def test_what_keeps_it_from_starting(launch: Launch, tmp_path: Path) -> None:
    first = TableveilServer(ServeSettings(tmp_path / "clinic.duckdb", ("127.0.0.1:0",)))
    try:
        for database, wanted, code in (
            ("other.duckdb", first.address, "ADDRESS_IN_USE"),
            ("other.duckdb", "0.0.0.0:0", "ADDRESS_REMOTE"),
            ("none/other.duckdb", "127.0.0.1:0", "DATABASE_UNREADABLE"),
        ):
            with pytest.raises(TableveilError) as raised:
                TableveilServer(ServeSettings(tmp_path / database, (wanted,)))
            assert raised.value.code == code
        # Another process has the file.
        process = launch()
        output, log = process.communicate(timeout=SECONDS)
        assert (process.returncode, output) == (2, "")
        assert log.splitlines()[-1] == "DATABASE_LOCKED"
        jobs_at(first.address)
    finally:
        first.close()


def test_a_second_signal_ends_it_at_once(launch: Launch) -> None:
    # Closing hangs, as it may if the database does.
    hanging = "from tableveil.server.server import TableveilServer\nimport time\n"
    hanging += "TableveilServer.close = lambda self: time.sleep(600)\n"
    process = launch(program=hanging + PROGRAM)
    address_of(process)
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    # Signals that come before the first is seen to are one.
    while "stopping" not in (line := process.stderr.readline()):
        assert line
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=SECONDS) == 128 + signal.SIGTERM


def test_a_database_that_failed_ends_its_server(launch: Launch, tmp_path: Path) -> None:
    # As after a checkpoint on a full disk: only a restart by the operator opens the database again.
    failing = "from tableveil.backend import Database\n"
    failing += "Database.works = lambda self: not self.path.with_name('failed').exists()\n"
    process = launch(program=failing + PROGRAM)
    address_of(process)
    (tmp_path / "failed").touch()
    _, log = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert "start the server again" in log


def test_killed_between_the_commit_of_a_release_and_its_mark(launch: Launch, tmp_path: Path) -> None:
    """The release is there, and the ledger does not seem older than it is."""
    kill = "from importlib import import_module\nimport os, signal\n"
    kill += "module = import_module('tableveil.lifecycle.publish')\n"
    kill += "module.remember = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)\n"
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE discharges AS SELECT 'm' AS sex, 'flu' AS diagnosis FROM range(20) r(i)")
    process = launch(program=kill + PROGRAM)
    with authenticated.channel(address_of(process)) as channel:
        request = job_service_pb2.SubmitJobRequest(policy=policy())
        job_service_pb2_grpc.JobServiceStub(channel).SubmitJob(request)
        assert process.wait(timeout=SECONDS) == -signal.SIGKILL
    process = launch()
    with authenticated.channel(address_of(process)) as channel:
        [job] = job_service_pb2_grpc.JobServiceStub(channel).ListJobs(job_service_pb2.ListJobsRequest()).jobs
        assert (job.state, job.result) == (job_service_pb2.JOB_STATE_SUCCEEDED, "releases/1"), job
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=SECONDS)
    assert "went back in time" not in log


def test_opens_and_closes_in_a_process_of_others(tmp_path: Path) -> None:
    settings = ServeSettings(tmp_path / "clinic.duckdb", ("127.0.0.1:0",))
    for _ in range(2):
        server = TableveilServer(settings)
        jobs_at(server.address)
        server.close()
        with pytest.raises(grpc.RpcError):
            jobs_at(server.address)


def test_what_was_opened_is_closed_if_the_rest_fails(tmp_path: Path) -> None:
    first = TableveilServer(ServeSettings(tmp_path / "first.duckdb", ("127.0.0.1:0",)))
    second = tmp_path / "second.duckdb"
    try:
        with pytest.raises(BusyError):
            TableveilServer(ServeSettings(second, (first.address,)))
    finally:
        first.close()
    TableveilServer(ServeSettings(second, ("127.0.0.1:0",))).close()


@pytest.mark.parametrize(
    "settings",
    [
        ServeSettings(Path("x.duckdb"), ("0.0.0.0:0",)),
        ServeSettings(Path("x.duckdb"), ("nonsense",)),
        ServeSettings(Path("x.duckdb"), stream_limit=0),
    ],
)
def test_settings_are_checked_before_anything_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: ServeSettings
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableveilError):
        TableveilServer(settings)
    assert list(tmp_path.iterdir()) == []


HANGING = {
    "a job": "from tableveil.pipelines import anonymize\nanonymize.anonymize = hang\n",
    "a call": "from tableveil.lookups import Tables\nTables.page = hang\n",
    "a submission": "from tableveil.runtime import manager\nmanager.check_room = hang\n",
    "the checkpoint": "from tableveil.backend import Database\nDatabase.close = hang\n",
}
"""Work that nothing ends, as if it hung in the database."""

HANG = """
import time
def hang(*arguments, **named):
    print("hanging", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("what", HANGING)
def test_a_stop_ends_the_process_in_time_whatever_hangs(launch: Launch, tmp_path: Path, what: str) -> None:
    sooner = "from tableveil.server import run, server\n"
    sooner += "server.STOP_SECONDS, run.STOP_LIMIT_SECONDS = 0.5, 3.0\n"
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE discharges AS SELECT 'm' AS sex, 'flu' AS diagnosis FROM range(20) r(i)")
    process = launch(program=HANG + sooner + HANGING[what] + PROGRAM)
    with authenticated.channel(address_of(process)) as channel:
        submitted = job_service_pb2_grpc.JobServiceStub(channel).SubmitJob.future(
            job_service_pb2.SubmitJobRequest(policy=policy())
        )
        listed = table_service_pb2_grpc.TableServiceStub(channel).ListTables.future(
            table_service_pb2.ListTablesRequest()
        )
        if what != "the checkpoint":
            assert process.stdout is not None
            assert process.stdout.readline() == "hanging\n"
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=SECONDS)
        del submitted, listed
    assert process.returncode == 0
    assert "work given up" in log
    assert "Traceback" not in log
    if what != "the checkpoint":
        assert not list(tmp_path.glob(".*.spill")), "raw values are not left behind"
