"""The figures, over HTTP as monitoring reads them: bounded in number, whatever callers and readers do."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPException
from urllib.error import HTTPError
from urllib.request import Request, build_opener

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tableveil.fair_use import Places
from tableveil.metrics import Metrics, MetricsAddress
from tableveil.metrics.address import READERS_AT_ONCE

IDLE = 8
GET_JOB = "/tableveil.v1.JobService/GetJob"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics([GET_JOB], "0.1.0")


@pytest.fixture
def ready() -> list[bool]:
    return [True]


@pytest.fixture
def address(metrics: Metrics, ready: list[bool]) -> Iterator[MetricsAddress]:
    with closing(MetricsAddress("127.0.0.1", 0, metrics, lambda: ready[0], Places(IDLE).take)) as found:
        yield found


def samples(metrics: Metrics) -> dict[str, float]:
    """Values by names with labels, without buckets and the process's own."""
    _, text = metrics.text()
    return {
        sample.name + "".join(f",{value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if not re.search("_bucket$|^process_", sample.name)
    }


def read(address: MetricsAddress, path: str, **headers: str) -> tuple[int, str]:
    """The status and the text at a path."""
    request = Request(f"http://127.0.0.1:{address.port}{path}", headers=headers)
    try:
        with build_opener().open(request, timeout=30) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_calls(metrics: Metrics) -> None:
    metrics.call_ended(GET_JOB, "OK", 0.5)
    metrics.call_ended(GET_JOB, "NOT_FOUND", 0.25)
    # Nobody can fill the memory with names of methods.
    for number in range(100):
        metrics.call_ended(f"/made.up/Method{number}", "UNIMPLEMENTED", 0.0)
    metrics.call_denied("authentication")
    found = samples(metrics)
    assert found["tableveil_calls_total,OK,/tableveil.v1.JobService/GetJob"] == 1
    assert found["tableveil_calls_total,NOT_FOUND,/tableveil.v1.JobService/GetJob"] == 1
    assert found["tableveil_calls_total,UNIMPLEMENTED,other"] == 100
    assert found["tableveil_call_seconds_sum,/tableveil.v1.JobService/GetJob"] == 0.75
    assert found["tableveil_denied_calls_total,authentication"] == 1
    assert len(found) < 20


def test_jobs(metrics: Metrics) -> None:
    metrics.job_started(2.5)
    metrics.job_ended("RELEASE", "SUCCEEDED", {"reading": 0.5, "searching": 1.5}, 1000)
    found = samples(metrics)
    assert found["tableveil_job_waiting_seconds_sum"] == 2.5
    assert found["tableveil_jobs_ended_total,RELEASE,SUCCEEDED"] == 1
    assert found["tableveil_job_phase_seconds_sum,searching"] == 1.5
    assert found["tableveil_released_rows_total"] == 1000


def test_figures_that_are_asked_for(metrics: Metrics) -> None:
    def unknown() -> float:
        raise FileNotFoundError

    metrics.watch("tableveil_queued_jobs", "Jobs that wait.", lambda: 3)
    metrics.watch("tableveil_database_bytes", "The file.", unknown)
    found = samples(metrics)
    assert found["tableveil_queued_jobs"] == 3
    assert found["tableveil_database_bytes"] != found["tableveil_database_bytes"], "NaN, and all others are there"


def test_health(address: MetricsAddress, ready: list[bool]) -> None:
    assert read(address, "/healthz") == (200, "alive\n")
    assert read(address, "/readyz") == (200, "ready\n")
    ready[0] = False
    assert read(address, "/readyz?probe=1") == (503, "not ready\n")
    assert read(address, "/healthz")[0] == 200
    assert read(address, "/")[0] == 404


def test_forms(address: MetricsAddress) -> None:
    status, text = read(address, "/metrics")
    assert status == 200
    assert 'tableveil_info{version="0.1.0"} 1.0' in text
    assert read(address, "/metrics", Accept="application/openmetrics-text; version=1.0.0")[1].endswith("# EOF\n")


def test_other_methods_change_nothing(address: MetricsAddress) -> None:
    connection = HTTPConnection("127.0.0.1", address.port, timeout=30)
    with closing(connection):
        connection.request("POST", "/metrics", b"x")
        assert connection.getresponse().status == 501


def test_connections_that_ask_nothing_stop_no_probe(address: MetricsAddress) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", address.port), 30)) for _ in range(IDLE * 3)]
        for path in ("/healthz", "/readyz", "/metrics"):
            assert read(address, path)[0] == 200
        assert idle[0].recv(1) == b"", "the oldest is closed"


def test_readers_of_metrics_that_hang_stop_no_probe(
    address: MetricsAddress, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging, going_on = threading.Semaphore(0), threading.Event()

    def text(_: str) -> tuple[str, bytes]:
        hanging.release()
        going_on.wait(60)
        return "text/plain", b""

    monkeypatch.setattr(metrics, "text", text)
    readers = [threading.Thread(target=read, args=(address, "/metrics")) for _ in range(READERS_AT_ONCE)]
    for reader in readers:
        reader.start()
        hanging.acquire(timeout=60)
    assert read(address, "/healthz")[0] == 200
    assert read(address, "/metrics")[0] == 503
    going_on.set()
    for reader in readers:
        reader.join()


def test_readers_that_send_a_byte_now_and_then_do_not_take_all_threads(
    address: MetricsAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tableveil.metrics.address.SECONDS_TO_READ", 1.0)
    with ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", address.port))) for _ in range(IDLE)]
        until = time.monotonic() + 30
        while time.monotonic() < until:
            for reader in slow:
                with suppress(OSError):
                    reader.send(b"G")
            with suppress(OSError, HTTPException):
                assert read(address, "/healthz")[0] == 200
                return
            time.sleep(0.01)
    pytest.fail("no other reader is answered any more")


def test_a_port_that_is_taken(address: MetricsAddress, metrics: Metrics) -> None:
    with pytest.raises(OSError, match="in use"):
        MetricsAddress("127.0.0.1", address.port, metrics, lambda: True, Places(1).take)
