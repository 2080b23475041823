"""Streams that their clients let lie give their slots back; those of slow clients stay."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import Mock

import grpc
import pyarrow as pa
import pytest

from tableveil.v1 import (
    hierarchy_service_pb2,
    hierarchy_service_pb2_grpc,
    policy_pb2,
    release_service_pb2,
    release_service_pb2_grpc,
)
from tests.service.server.conftest import Serve

LIMIT = 3
SECONDS = 20.0
REQUEST = release_service_pb2.ReadObjectRequest(release="releases/1", object="released")


@pytest.fixture
def endless(releases: Mock) -> list[int]:
    """An object without an end; how many readers have been closed."""
    closed: list[int] = []
    schema = pa.schema([("text", pa.string())])
    batch = pa.record_batch([["x" * 2**20]], schema)

    @contextmanager
    def read(number: int, name: str) -> Iterator[pa.RecordBatchReader]:
        try:
            yield pa.RecordBatchReader.from_batches(schema, itertools.repeat(batch))
        finally:
            closed.append(number)

    releases.read.side_effect = read
    return closed


def test_streams_that_nobody_reads_give_their_slots_back(serve: Serve, endless: list[int]) -> None:
    channel = serve(stream_limit=LIMIT, idle_seconds=0.5)
    stub = release_service_pb2_grpc.ReleaseServiceStub(channel)
    unread = [stub.ReadObject(REQUEST) for _ in range(LIMIT)]
    deadline = time.monotonic() + SECONDS
    while len(endless) < LIMIT:
        assert time.monotonic() < deadline, "they keep their slots"
        time.sleep(0.05)
    another = stub.ReadObject(REQUEST)
    assert next(another).arrow_ipc
    for stream in (another, *unread):
        stream.cancel()


def test_a_slow_reader_keeps_its_stream(serve: Serve, endless: list[int]) -> None:
    channel = serve(stream_limit=LIMIT, idle_seconds=3.0)
    stream = release_service_pb2_grpc.ReleaseServiceStub(channel).ReadObject(REQUEST)
    for _ in range(9):
        assert next(stream).arrow_ipc
        time.sleep(0.4)
    stream.cancel()


def test_an_upload_that_stops_is_given_up(serve: Serve, hierarchies: Mock) -> None:
    channel = serve(stream_limit=LIMIT, idle_seconds=0.5)
    stub = hierarchy_service_pb2_grpc.HierarchyServiceStub(channel)
    stuck = threading.Event()

    def requests() -> Iterator[hierarchy_service_pb2.CreateHierarchyRequest]:
        yield hierarchy_service_pb2.CreateHierarchyRequest(name="zip", row_count=2)
        stuck.wait(SECONDS)

    with pytest.raises(grpc.RpcError) as raised:
        stub.CreateHierarchy(requests(), timeout=SECONDS)
    stuck.set()
    assert raised.value.code() is grpc.StatusCode.CANCELLED
    hierarchies.create.assert_not_called()


def test_an_upload_by_single_bytes_is_given_up(serve: Serve, hierarchies: Mock) -> None:
    """However often something comes, it has to be worth the wait."""
    channel = serve(stream_limit=LIMIT, idle_seconds=0.5)
    over = threading.Event()

    def requests() -> Iterator[hierarchy_service_pb2.CreateHierarchyRequest]:
        yield hierarchy_service_pb2.CreateHierarchyRequest(name="zip", row_count=10**6)
        while not over.wait(0.1):
            row = policy_pb2.HierarchyRow(labels=["a", "*"])
            yield hierarchy_service_pb2.CreateHierarchyRequest(rows=[row])

    with pytest.raises(grpc.RpcError) as raised:
        hierarchy_service_pb2_grpc.HierarchyServiceStub(channel).CreateHierarchy(requests(), timeout=SECONDS)
    over.set()
    assert raised.value.code() is grpc.StatusCode.CANCELLED
