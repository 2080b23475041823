"""Releases over a real channel; their objects as Arrow, whatever the size."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from unittest.mock import Mock

import grpc
import pyarrow as pa
import pytest

from tableveil.convert.arrow_pieces import PIECE_SIZE, arrow_pieces
from tableveil.errors import NotFoundError
from tableveil.policy import ReleaseKind, TableReference
from tableveil.risk import ProsecutorRisk
from tableveil.state.releases import Proof, Release, Searched
from tableveil.v1 import release_service_pb2 as v1
from tableveil.v1 import release_service_pb2_grpc

SCHEMA = pa.schema([("age", pa.string()), ("stay", pa.int64())])
NO_RISK = ProsecutorRisk(0, 0, 0.0, 0.0, 0.0, 0, ())


def release(number: int) -> Release:
    return Release(
        number=number,
        job=1,
        created_at=datetime(2024, 1, 1),
        source=TableReference("", "main", "t"),
        source_fingerprint="",
        target_schema="main",
        target_name="released",
        kind=ReleaseKind.TABLE,
        repeat_reason="",
        needs_approval=False,
        records=0,
        suppressed_records=0,
        classes=0,
        score=0.0,
        quality_model="loss",
        proof=Proof(True, 0.0, "exact", 0.0, "duckdb", "", Searched("1", 1, 1)),
        attributes=(),
        objects=(),
        risk_before=NO_RISK,
        risk_after=NO_RISK,
        risk_by_size=NO_RISK,
        seconds=0.0,
        phase_seconds={},
        versions={},
        warnings=(),
        policy='{"repeat_reason":"once more"}',
    )


def table(rows: int, width: int) -> pa.Table:
    return pa.table({"age": ["x" * width] * rows, "stay": list(range(rows))}, SCHEMA)


@pytest.fixture
def stub(channel: grpc.Channel) -> release_service_pb2_grpc.ReleaseServiceStub:
    return release_service_pb2_grpc.ReleaseServiceStub(channel)


def test_the_policy_comes_with_one_release_and_not_with_lists(
    stub: release_service_pb2_grpc.ReleaseServiceStub, releases: Mock
) -> None:
    releases.get.return_value = release(3)
    releases.page.return_value = [release(3), release(2)]
    assert stub.GetRelease(v1.GetReleaseRequest(name="releases/3")).policy.repeat_reason == "once more"
    page = stub.ListReleases(v1.ListReleasesRequest(page_size=1))
    assert [found.name for found in page.releases] == ["releases/3"]
    assert not page.releases[0].HasField("policy")
    stub.ListReleases(v1.ListReleasesRequest(page_token=page.next_page_token))
    assert releases.page.call_args.args == (3, 51)


@pytest.mark.parametrize(("rows", "width", "batch"), [(0, 0, 1), (1, 0, 1), (50_000, 60, 8192), (3, 5_000_000, 3)])
def test_objects_arrive_whole(
    stub: release_service_pb2_grpc.ReleaseServiceStub, releases: Mock, rows: int, width: int, batch: int
) -> None:
    written = table(rows, width)

    @contextmanager
    def read(number: int, name: str) -> Iterator[pa.RecordBatchReader]:
        assert (number, name) == (3, "released")
        yield pa.RecordBatchReader.from_batches(SCHEMA, written.to_batches(max_chunksize=batch))

    releases.read.side_effect = read
    request = v1.ReadObjectRequest(release="releases/3", object="released")
    pieces = [response.arrow_ipc for response in stub.ReadObject(request)]
    assert all(len(piece) == PIECE_SIZE for piece in pieces[:-1])
    assert 0 < len(pieces[-1]) <= PIECE_SIZE
    assert pa.ipc.open_stream(b"".join(pieces)).read_all().equals(written)


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 10**6])
def test_pieces_of_any_size(size: int) -> None:
    written = table(100, 10)
    pieces = list(arrow_pieces(pa.RecordBatchReader.from_batches(SCHEMA, written.to_batches(max_chunksize=9)), size))
    assert {len(piece) for piece in pieces[:-1]} <= {size}
    assert pa.ipc.open_stream(b"".join(pieces)).read_all().equals(written)


def test_batches_are_read_as_they_are_sent() -> None:
    read = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(100):
            read.append(number)
            yield table(1000, 100).to_batches()[0]

    pieces = arrow_pieces(pa.RecordBatchReader.from_batches(SCHEMA, batches()), 1000)
    next(pieces)
    assert len(read) == 1


def test_an_object_that_is_not_there(stub: release_service_pb2_grpc.ReleaseServiceStub, releases: Mock) -> None:
    releases.read.side_effect = NotFoundError.of("OBJECT_NOT_FOUND", "object", "'x'", "an object of releases/3")
    with pytest.raises(grpc.RpcError) as raised:
        list(stub.ReadObject(v1.ReadObjectRequest(release="releases/3", object="x")))
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND


def test_a_client_that_goes_away_ends_the_reading(
    stub: release_service_pb2_grpc.ReleaseServiceStub, releases: Mock
) -> None:
    closed = threading.Event()

    @contextmanager
    def read(number: int, name: str) -> Iterator[pa.RecordBatchReader]:
        batch = table(1000, 1000).to_batches()[0]
        try:
            yield pa.RecordBatchReader.from_batches(SCHEMA, iter(lambda: batch, None))
        finally:
            closed.set()

    releases.read.side_effect = read
    stream = stub.ReadObject(v1.ReadObjectRequest(release="releases/3", object="released"))
    next(stream)
    assert not closed.is_set()
    stream.cancel()
    assert closed.wait(20)
