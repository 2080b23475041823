"""The server's own service over a real channel: what reaches the upkeep, and what comes back."""

import threading
from importlib.metadata import version
from pathlib import Path
from unittest.mock import Mock

import grpc
import pytest

from tableveil.control import Control
from tableveil.convert.copied import duration
from tableveil.errors import BusyError
from tableveil.operate import Backup, Finding, Level
from tableveil.serving.settings import LARGEST_MESSAGE, STREAM_IDLE_SECONDS
from tableveil.v1 import admin_service_pb2 as v1
from tableveil.v1 import admin_service_pb2_grpc
from tests.service.server.test_frontiers import failure_of


@pytest.fixture
def stub(channel: grpc.Channel) -> admin_service_pb2_grpc.AdminServiceStub:
    return admin_service_pb2_grpc.AdminServiceStub(channel)


def test_the_server_tells_about_itself_and_whom_it_talks_to(
    stub: admin_service_pb2_grpc.AdminServiceStub, upkeep: Mock
) -> None:
    upkeep.warehouses = ["lake"]
    found = stub.GetServerInfo(v1.GetServerInfoRequest())
    assert found.version == version("tableveil")
    assert found.largest_message_bytes == LARGEST_MESSAGE
    assert found.stream_idle == duration(STREAM_IDLE_SECONDS)
    assert found.principal == "tester"
    assert found.warehouses == ["lake"]


def test_findings_of_every_level(stub: admin_service_pb2_grpc.AdminServiceStub, upkeep: Mock) -> None:
    upkeep.database = Path("/data/clinic.duckdb")
    upkeep.examine.return_value = [Finding(level, f"s{i}", "found", "advice") for i, level in enumerate(Level)]
    found = stub.GetServerStatus(v1.GetServerStatusRequest())
    assert found.database == "/data/clinic.duckdb"
    assert [(f.level, f.subject, f.found, f.advice) for f in found.findings] == [
        (v1.FINDING_LEVEL_OK, "s0", "found", "advice"),
        (v1.FINDING_LEVEL_WARNING, "s1", "found", "advice"),
        (v1.FINDING_LEVEL_PROBLEM, "s2", "found", "advice"),
    ]


def test_a_backup(stub: admin_service_pb2_grpc.AdminServiceStub, upkeep: Mock) -> None:
    upkeep.back_up.return_value = Backup(Path("/backups/x.duckdb"), 12, 3, 45, 0.5, ("w.duckdb",))
    made = stub.BackupDatabase(v1.BackupDatabaseRequest(name="x", keep=7))
    assert made == v1.Backup(
        path="/backups/x.duckdb", size_bytes=12, tables=3, rows=45, duration=duration(0.5), removed=["w.duckdb"]
    )
    assert upkeep.back_up.call_args.args[:2] == ("x", 7)


def test_a_backup_that_is_refused(stub: admin_service_pb2_grpc.AdminServiceStub, upkeep: Mock) -> None:
    upkeep.back_up.side_effect = BusyError.of("BACKUP_RUNNING", "backup", "another", "none")
    with pytest.raises(grpc.RpcError) as raised:
        stub.BackupDatabase(v1.BackupDatabaseRequest(name="x"))
    assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert failure_of(raised.value).code == "BACKUP_RUNNING"


def test_a_client_that_gives_up_ends_the_backup(stub: admin_service_pb2_grpc.AdminServiceStub, upkeep: Mock) -> None:
    begun, told = threading.Event(), threading.Event()

    def back_up(_: str, keep: int | None, control: Control) -> Backup:
        assert keep is None
        begun.set()
        while not control.cancelled:
            threading.Event().wait(0.01)
        told.set()
        return Backup(Path("x"), 0, 0, 0, 0.0)

    upkeep.back_up.side_effect = back_up
    call = stub.BackupDatabase.future(v1.BackupDatabaseRequest(name="x"))
    assert begun.wait(10)
    call.cancel()
    assert told.wait(10)
