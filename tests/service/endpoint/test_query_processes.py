"""Processes of queries that end before they answer, and the directories into which they spill."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from tableveil.endpoint.query_process import Message
from tableveil.endpoint.query_processes import SPARES, QueryProcess, QueryProcesses, SpillDirectory
from tableveil.endpoint.running import RunningQuery
from tableveil.errors import TableveilError
from tests.service.endpoint.published import LIMITS

ENDLESS: Message = {
    "statement": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
    "SELECT a.i FROM n a, n b, n c, n d, n e",
    "tables": [],
    "files": {},
    "parameters": None,
    "lenient": False,
    "withdrawn": [],
    "information": {},
    "rows": True,
}


@pytest.fixture(scope="module")
def processes() -> Iterator[QueryProcesses]:
    with closing(QueryProcesses(LIMITS)) as processes:
        yield processes


def told(process: QueryProcess) -> str:
    """The code of the error for a process that ends without an answer."""
    try:
        for _ in process.batches():
            pass
    except TableveilError as error:
        return error.code
    except (pa.ArrowInvalid, OSError):
        return process.ended().code
    raise AssertionError


def children(of: int) -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = status.read_text().rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) == of:
            found.add(int(name.split()[0]))
    return found


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, "QUERY_MEMORY"), (signal.SIGXCPU, "QUERY_TIME"), (signal.SIGSEGV, "QUERY_FAILED")],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_error_tells_what_ended_a_query(processes: QueryProcesses, number: signal.Signals, code: str) -> None:
    control = RunningQuery()
    process = processes.open(ENDLESS, control)
    process.answer()
    # The others wait for queries.
    os.kill(min(children(of=processes._original.pid)), number)
    try:
        assert told(process) == code
    finally:
        processes.release(process)


def test_a_query_outlives_the_processes_that_waited_for_it(
    processes: QueryProcesses, caplog: pytest.LogCaptureFixture
) -> None:
    until = time.monotonic() + 30.0
    while len(children(of=processes._original.pid)) < SPARES and time.monotonic() < until:
        time.sleep(0.01)
    for waiting in children(of=processes._original.pid):
        os.kill(waiting, signal.SIGKILL)
    while children(of=processes._original.pid) and time.monotonic() < until:
        time.sleep(0.01)
    process = processes.open(ENDLESS, RunningQuery())
    process.answer()
    processes.release(process)
    assert caplog.text.count("with the exit code -9") == SPARES


def test_a_defect_is_no_lack_of_memory(processes: QueryProcesses) -> None:
    control = RunningQuery()
    process = processes.open({"no": "request"}, control)
    try:
        assert told(process) == "QUERY_FAILED"
    finally:
        processes.release(process)


def test_a_query_that_is_stopped(processes: QueryProcesses) -> None:
    for control, code in ((RunningQuery(), "QUERY_TIME"), (RunningQuery(), "CANCELLED")):
        process = processes.open(ENDLESS, control)
        process.answer()
        control.limit(time.monotonic()) if code == "QUERY_TIME" else control.cancel()
        try:
            assert told(process) == code
        finally:
            processes.release(process)


def test_a_query_that_a_stop_ends() -> None:
    processes = QueryProcesses(LIMITS)
    process = processes.open(ENDLESS, RunningQuery())
    processes.close()
    assert process.ended().code == "STOPPING"


def test_only_directories_of_killed_endpoints_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, others, elsewhere = tmp_path / "tableveil-endpoint-killed", tmp_path / "others", tmp_path / "elsewhere"
    for place in (killed / "1", others, elsewhere):
        place.mkdir(parents=True)
        (place / "spilled").write_text("raw")
    (tmp_path / "tableveil-endpoint-link").symlink_to(elsewhere)
    with closing(SpillDirectory()) as running:
        (running.path / "spilled").write_text("raw")
        with closing(SpillDirectory()) as second:
            assert second.path != running.path
            assert (running.path / "spilled").exists()
        assert not killed.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"others", "elsewhere", "tableveil-endpoint-link"}
    assert (elsewhere / "spilled").exists()


@pytest.mark.long
def test_a_killed_endpoint_leaves_no_directory() -> None:
    program = (
        "import time; from tableveil.endpoint.query_processes import QueryProcesses; "
        "from tableveil.endpoint.settings import QueryLimits; "
        "made = QueryProcesses(QueryLimits()); print(made.spilled.path, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as endpoint:
        assert endpoint.stdout is not None
        spilled = Path(endpoint.stdout.readline().strip())
        (spilled / "values").write_text("of a release")
        endpoint.kill()
    until = time.monotonic() + 30.0
    while spilled.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not spilled.exists()
