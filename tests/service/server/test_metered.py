"""The figures of a server that works, and its health over HTTP."""

import math
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tableveil.client import Client
from tableveil.errors import BusyError, InvalidError, NotFoundError
from tableveil.server import ServeSettings, TableveilServer
from tableveil.v1 import job_service_pb2_grpc
from tableveil.v1.job_service_pb2 import ListJobsRequest
from tests.e2e import samples

LIST_JOBS = "/tableveil.v1.JobService/ListJobs"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TableveilServer]:
    database = tmp_path_factory.mktemp("metered") / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE)
    settings = ServeSettings(database, ("127.0.0.1:0",), threads=2, metrics_address="127.0.0.1:0")
    with closing(TableveilServer(settings)) as started:
        yield started


def read(server: TableveilServer, path: str) -> tuple[int, str]:
    assert server.metrics_address is not None
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.metrics_address.port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""


def figures(server: TableveilServer) -> dict[tuple[str, ...], float]:
    """Values by name and labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(read(server, "/metrics")[1])
        for sample in family.samples
    }


def test_a_release(server: TableveilServer) -> None:
    before = figures(server)
    with Client(server.address) as client:
        policy = samples.message(samples.policy(repeat_reason="a test"))
        released = client.wait(client.submit(policy).name)
        shown = client.get_release(released.result)
    ended = "tableveil_jobs_ended_total", "release", "succeeded"
    until = time.monotonic() + 30
    # Clients see the release once it is committed, which is a moment before the job is counted.
    while ended not in (after := figures(server)) and time.monotonic() < until:
        time.sleep(0.01)
    grown = {name: after[name] - before.get(name, 0.0) for name in after}
    assert grown[ended] == 1
    assert grown["tableveil_job_waiting_seconds_count",] == 1
    assert grown["tableveil_released_rows_total",] == shown.records - shown.suppressed_records
    for phase in ("reading", "counting", "searching", "writing", "verifying"):
        assert grown["tableveil_job_phase_seconds_count", phase] == 1
    assert after["tableveil_queued_jobs",] == after["tableveil_running_jobs",] == 0
    assert after["tableveil_memory_granted_bytes",] == 0
    assert after["tableveil_memory_limit_bytes",] > 0
    assert after["tableveil_database_bytes",] > 0
    assert after["tableveil_disk_free_bytes",] > 0
    assert after["tableveil_ready",] == 1


def test_calls_at_the_doors(server: TableveilServer) -> None:
    before = figures(server)
    with grpc.insecure_channel(server.address) as channel:
        with pytest.raises(grpc.RpcError):
            job_service_pb2_grpc.JobServiceStub(channel).ListJobs(ListJobsRequest(), timeout=30)
        with pytest.raises(grpc.RpcError):
            channel.unary_unary("/made.up/Method")(b"", timeout=30)  # type: ignore[arg-type]
    with Client(server.address) as client, pytest.raises(NotFoundError):
        client.get_job("12345")
    after = figures(server)
    grown = {name: value for name in after if (value := after[name] - before.get(name, 0.0))}
    assert grown["tableveil_calls_total", "UNAUTHENTICATED", LIST_JOBS] == 1
    assert grown["tableveil_calls_total", "UNIMPLEMENTED", "other"] == 1
    assert grown["tableveil_calls_total", "NOT_FOUND", "/tableveil.v1.JobService/GetJob"] == 1
    assert grown["tableveil_denied_calls_total", "authentication"] == 1
    assert after["tableveil_open_calls",] == 0
    assert not any("made.up" in label for name in after for label in name)


def test_health(tmp_path: Path) -> None:
    server = TableveilServer(ServeSettings(tmp_path / "x.duckdb", ("127.0.0.1:0",), metrics_address="localhost:0"))
    with closing(server):
        assert read(server, "/healthz")[0] == read(server, "/readyz")[0] == 200
        # The database is not the one that the server has open.
        (tmp_path / "x.duckdb").rename(tmp_path / "y.duckdb")
        assert server.works()
        assert read(server, "/readyz")[0] == 503
        assert read(server, "/healthz")[0] == 200


def test_addresses_that_are_refused(server: TableveilServer, tmp_path: Path) -> None:
    assert server.metrics_address is not None
    taken = f"127.0.0.1:{server.metrics_address.port}"
    for address, code, error in (
        ("0.0.0.0:0", "ADDRESS_REMOTE", InvalidError),
        ("9464", "ADDRESS_INVALID", InvalidError),
        ("192.0.2.1:0", "ADDRESS_UNUSABLE", InvalidError),
        (taken, "ADDRESS_IN_USE", BusyError),
    ):
        is_remote = address.startswith("192")
        settings = ServeSettings(
            tmp_path / "x.duckdb", ("127.0.0.1:0",), allow_remote=is_remote, metrics_address=address
        )
        with pytest.raises(error) as raised:
            TableveilServer(settings)
        assert (raised.value.code, raised.value.faults[0].field) == (code, "metrics_address")


def test_backups_and_publications_that_failed(tmp_path: Path) -> None:
    settings = ServeSettings(
        tmp_path / "clinic.duckdb", ("127.0.0.1:0",), metrics_address="127.0.0.1:0", backup_directory=tmp_path
    )
    with closing(TableveilServer(settings)) as server:
        assert math.isnan(figures(server)["tableveil_last_backup_timestamp_seconds",])
        began = time.time()
        with Client(server.address) as client:
            client.back_up("nightly", keep=1)
        assert began <= figures(server)["tableveil_last_backup_timestamp_seconds",] <= time.time()
        assert figures(server)["tableveil_failed_publications",] == 0
        with server._database.session() as session:
            session.execute(
                """INSERT INTO tableveil.publications BY NAME SELECT 1 AS release, 'shelf' AS target,
                '' AS requested_by, now()::TIMESTAMP AS requested_at, '' AS repeat_reason, true AS wanted,
                'FAILED' AS state, 1 AS attempts, 'TARGET_UNFIT' AS code, '' AS problem"""
            )
        assert figures(server)["tableveil_failed_publications",] == 1
