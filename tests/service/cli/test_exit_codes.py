"""Exit codes: one for each way a command can end."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from click.testing import CliRunner

from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.main import cli
from tableveil.client import Client
from tableveil.v1 import faults_pb2, job_service_pb2
from tests.service.cli.conftest import Run
from tests.service.client import samples
from tests.service.client.fake_service import FakeService

CODES: list[tuple[faults_pb2.FailureKind.ValueType, int]] = [
    (faults_pb2.FAILURE_KIND_INVALID, 2),
    (faults_pb2.FAILURE_KIND_NOT_FOUND, 8),
    (faults_pb2.FAILURE_KIND_INFEASIBLE, 3),
    (faults_pb2.FAILURE_KIND_CONFLICT, 6),
    (faults_pb2.FAILURE_KIND_BUSY, 7),
    (faults_pb2.FAILURE_KIND_CANCELLED, 4),
    (faults_pb2.FAILURE_KIND_INTERNAL, 1),
    (faults_pb2.FAILURE_KIND_UNAUTHENTICATED, 9),
    (faults_pb2.FAILURE_KIND_DENIED, 9),
    (faults_pb2.FAILURE_KIND_GUARDED, 10),
]

PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tableveil.cli.main import main
main()
"""


def test_the_numbers_are_stable() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "OK": 0,
        "FAILED": 1,
        "INVALID": 2,
        "INFEASIBLE": 3,
        "CANCELLED": 4,
        "UNREACHABLE": 5,
        "CONFLICT": 6,
        "BUSY": 7,
        "NOT_FOUND": 8,
        "REFUSED": 9,
        "GUARDED": 10,
        "UNPUBLISHED": 11,
        "UNDECIDED": 12,
        "CTRL_C": 130,
        "BROKEN_PIPE": 141,
    }


@pytest.mark.parametrize(("kind", "code"), CODES)
def test_a_refused_call(run: Run, service: FakeService, kind: faults_pb2.FailureKind.ValueType, code: int) -> None:
    service.failures["ListJobs"] = samples.failure(kind, "CODE", "field")
    assert run("jobs").exit_code == code


@pytest.mark.parametrize(("kind", "code"), CODES)
def test_a_job_that_failed(run: Run, service: FakeService, kind: faults_pb2.FailureKind.ValueType, code: int) -> None:
    service.jobs["jobs/1"] = samples.failed("jobs/1", samples.failure(kind, "CODE"))
    assert run("watch", "1").exit_code == code


@pytest.mark.parametrize("state", [job_service_pb2.JOB_STATE_CANCELLED, job_service_pb2.JOB_STATE_INTERRUPTED])
def test_a_job_that_was_stopped(run: Run, service: FakeService, state: job_service_pb2.JobState.ValueType) -> None:
    service.submit("jobs/1", state=state)
    assert run("watch", "1").exit_code == 4


def test_a_job_that_succeeded(run: Run, service: FakeService) -> None:
    service.jobs["jobs/1"] = samples.succeeded("jobs/1", "releases/1")
    assert run("watch", "1").exit_code == 0


def test_no_server() -> None:
    result = CliRunner().invoke(cli, ["jobs", "--server", "127.0.0.1:1"])
    assert result.exit_code == 5
    assert "127.0.0.1:1" in result.stderr


def test_a_defect(run: Run, service: FakeService) -> None:
    service.failures["ListJobs"] = grpc.StatusCode.DATA_LOSS
    assert run("jobs").exit_code == 1


@pytest.mark.parametrize(
    "arguments", [("watch",), ("watch", "x"), ("export", "3"), ("jobs", "--limit", "0"), ("jobs", "--no-such-option")]
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_ctrl_c_while_watching(run: Run, service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Iterator[job_service_pb2.Job]:
        yield samples.searching("jobs/7", 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "watch_job", interrupted)
    result = run("watch", "7")
    assert result.exit_code == 130
    assert "jobs/7 goes on" in result.stderr
    assert "`tableveil cancel jobs/7`" in result.stderr
    assert not any(isinstance(request, job_service_pb2.CancelJobRequest) for request in service.requests)


def test_ctrl_c_elsewhere(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Iterator[job_service_pb2.Job]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "list_jobs", interrupted)
    assert run("jobs").exit_code == 130


def command(service: FakeService, *arguments: str) -> subprocess.Popen[str]:
    """A process of its own; one that is started in the background of a shell would ignore Ctrl-C.

    No `preexec_fn` sees to that: with one the process is forked, and gRPC in it writes to stderr now and then.
    """
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments, "--server", service.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_to_a_process(service: FakeService) -> None:
    service.submit("jobs/7", [samples.searching("jobs/7", 1), service.resume], state=job_service_pb2.JOB_STATE_RUNNING)
    with command(service, "watch", "7") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "jobs/7 searching: 1 of 5,184 transformations checked\n"
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(r"Stopped watching; jobs/7 goes on\. .*`tableveil cancel jobs/7`\.\n", messages)


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_stops_reading(service: FakeService, options: tuple[str, ...]) -> None:
    service.jobs = {f"jobs/{number}": samples.searching(f"jobs/{number}", 1) for number in range(2000)}
    with command(service, "jobs", "--limit", "2000", *options) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(60) == 141


def test_a_watcher_whose_reader_stops_reading(service: FakeService) -> None:
    jobs = [samples.searching("jobs/7", number) for number in range(3)]
    service.submit(
        "jobs/7", [jobs[0], samples.succeeded("jobs/7", "releases/1")], state=job_service_pb2.JOB_STATE_RUNNING
    )
    with command(service, "watch", "7") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(60) == 141


def test_output_where_the_encoding_is_narrow(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    service.releases["releases/3"] = samples.release()
    with command(service, "show", "3") as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.startswith("releases/3  main.discharges ? main.released")


@pytest.mark.long
def test_serve_reports_errors_as_all_commands_do(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tableveil.cli", "serve", "--database", str(tmp_path / "no" / "x.duckdb")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert process.returncode in {1, 2, 7}
    assert "Traceback" not in process.stderr
