"""A server with its audit: what a person did is on record, and nothing is done when it cannot be."""

from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from tableveil.audit import audit_file, verify
from tableveil.audit.entry import read_line
from tableveil.client import Client
from tableveil.errors import BusyError
from tableveil.server import ServeSettings
from tableveil.server.server import TableveilServer
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.v1 import audit_service_pb2 as v1
from tests.small_disk import fill, small_disk

ROWS = pa.table({"name": ["Ada", "Grace"]})


def entries(path: Path) -> list[AuditEntry]:
    return [read_line(line) for line in path.read_bytes().splitlines(keepends=True)]


def test_a_full_disk_stops_calls_and_not_the_server(tmp_path: Path) -> None:
    with small_disk(tmp_path, 1) as place:
        settings = ServeSettings(
            tmp_path / "clinic.duckdb", ("127.0.0.1:0",), threads=1, audit_file=place / "audit.jsonl"
        )
        with closing(TableveilServer(settings)) as server, Client(server.address) as client:
            filler = fill(place)
            with suppress(BusyError):
                # Until the last block of the file is full.
                for _ in range(100):
                    list(client.list_tables())
            with pytest.raises(BusyError, match="No space left"):
                list(client.list_tables())
            with pytest.raises(BusyError) as raised:
                client.load(ROWS, "people")
            assert raised.value.code == "AUDIT_UNAVAILABLE"
            filler.unlink()
            assert not list(client.list_tables())
            client.load(ROWS, "people")
            assert [found.table.table for found in client.list_tables()] == ["people"]
        assert not verify([place / "audit.jsonl"]).faults
        events = [entry.event for entry in entries(place / "audit.jsonl")]
        assert AuditEvent.UNRECORDED in events
        assert events[-1] is AuditEvent.STOPPED


def test_the_record_has_no_values_and_no_secrets(tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    with (
        closing(TableveilServer(ServeSettings(database, ("127.0.0.1:0",), threads=1))) as server,
        Client(server.address) as client,
    ):
        client.load(ROWS, "people")
        client.describe_table("people", values=10)
        newest, *_, oldest = client.list_audit_entries()
        assert (newest.method.rpartition("/")[2], newest.code) == ("DescribeTable", "OK")
        assert oldest.event == v1.AUDIT_EVENT_STARTED
        load = [v1.AuditEvent.Name(entry.event) for entry in client.list_audit_entries(method="LoadTable")]
        assert load == ["AUDIT_EVENT_END", "AUDIT_EVENT_BEGIN"]
        assert not list(client.list_audit_entries(code="PERMISSION_DENIED"))
        assert not list(client.list_audit_entries(since=datetime.now(UTC) + timedelta(days=1)))
    text = audit_file(database).read_text()
    assert "LoadTable" in text
    assert '"resources":["people"]' in text
    assert not any(secret in text for secret in ("Ada", "Grace", "tvl_"))
