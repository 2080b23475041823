"""Hierarchies over a real channel: they come in pieces, whole or not at all, and not without bounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from unittest.mock import Mock

import grpc
import pytest

from tableveil.server import hierarchy_service, settings
from tableveil.server.endpoint import Endpoint
from tableveil.state.hierarchies import Stored
from tableveil.v1 import hierarchy_service_pb2 as v1
from tableveil.v1 import hierarchy_service_pb2_grpc, policy_pb2


def chunk(name: str, *rows: tuple[str, ...], of: int | None = None) -> v1.CreateHierarchyRequest:
    """A message with some rows of all `of`, by default the only ones."""
    messages = [policy_pb2.HierarchyRow(labels=row) for row in rows]
    return v1.CreateHierarchyRequest(name=name, rows=messages, row_count=len(rows) if of is None else of)


def stored(name: str, version: int = 1) -> Stored:
    return Stored(1, name, version, 2, 3, datetime(2024, 1, 1))


@pytest.fixture
def stub(channel: grpc.Channel) -> hierarchy_service_pb2_grpc.HierarchyServiceStub:
    return hierarchy_service_pb2_grpc.HierarchyServiceStub(channel)


def test_chunks_make_one_hierarchy(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.create.return_value = stored("zip", 4)
    chunks = [chunk("zip", ("02139", "0213*", "*"), of=3), chunk("ignored", ("02138", "0213*", "*"), ()), chunk("")]
    assert stub.CreateHierarchy(iter(chunks)).hierarchy.version == 4
    rows = [("02139", "0213*", "*"), ("02138", "0213*", "*"), ()]
    assert hierarchies.create.call_args.args == ("zip", rows)


def test_nothing_at_all(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.create.return_value = stored("x")
    stub.CreateHierarchy(iter([]))
    assert hierarchies.create.call_args.args == ("", [])


@pytest.mark.parametrize(("announced", "code"), [(2, grpc.StatusCode.CANCELLED), (0, grpc.StatusCode.INVALID_ARGUMENT)])
def test_as_many_rows_as_announced_or_none(
    stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock, announced: int, code: grpc.StatusCode
) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.CreateHierarchy(iter([chunk("zip", ("02139", "*"), of=announced)]))
    assert raised.value.code() is code
    hierarchies.create.assert_not_called()


@pytest.mark.parametrize(("limit", "value"), [("MOST_HIERARCHY_ROWS", 10), ("LARGEST_HIERARCHY", 100)])
def test_bounds(
    stub: hierarchy_service_pb2_grpc.HierarchyServiceStub,
    hierarchies: Mock,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: int,
) -> None:
    monkeypatch.setattr(hierarchy_service, limit, value)
    with pytest.raises(grpc.RpcError) as raised:
        stub.CreateHierarchy(chunk("zip", *[(f"{i:05}", "*")] * 4) for i in range(100))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "more than" in str(raised.value.details())
    hierarchies.create.assert_not_called()


@pytest.mark.parametrize("leave", ["cancel", "disconnect"])
def test_a_client_that_goes_away_leaves_nothing(start: Callable[..., Endpoint], hierarchies: Mock, leave: str) -> None:
    address = start().address
    hierarchies.create.return_value = stored("zip")
    for _ in range(50):
        with grpc.insecure_channel(address) as other:
            sent, left = threading.Event(), threading.Event()

            def chunks(
                sent: threading.Event = sent, left: threading.Event = left
            ) -> Iterator[v1.CreateHierarchyRequest]:
                yield chunk("zip", ("02139", "*"), of=2)
                sent.set()
                left.wait(5)

            call = hierarchy_service_pb2_grpc.HierarchyServiceStub(other).CreateHierarchy.future(chunks())
            assert sent.wait(5)
            if leave == "cancel":
                call.cancel()
        left.set()
    # All slots come back.
    with grpc.insecure_channel(address) as channel:
        for _ in range(settings.UPLOADS_AT_ONCE + 1):
            upload(hierarchy_service_pb2_grpc.HierarchyServiceStub(channel), chunk("other", ("a", "*")))
    assert {call.args[0] for call in hierarchies.create.call_args_list} == {"other"}


def upload(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, *chunks: v1.CreateHierarchyRequest) -> None:
    """Tries until there is a slot."""
    for _ in range(100):
        call = stub.CreateHierarchy.future(iter(chunks))
        if call.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
            call.result()
            return
        time.sleep(0.05)
    pytest.fail("no slot came back")


def test_uploads_are_bounded(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.create.return_value = stored("zip")
    go_on = threading.Event()
    received = threading.Semaphore(0)

    def chunks() -> Iterator[v1.CreateHierarchyRequest]:
        yield chunk("zip")
        received.release()
        go_on.wait(5)

    calls = [stub.CreateHierarchy.future(chunks()) for _ in range(settings.UPLOADS_AT_ONCE)]
    for _ in calls:
        assert received.acquire(timeout=5)
    codes = set()
    while grpc.StatusCode.RESOURCE_EXHAUSTED not in codes:
        try:
            stub.CreateHierarchy(iter([chunk("zip")]), timeout=5)
        except grpc.RpcError as error:
            codes.add(error.code())
    go_on.set()
    assert [call.result().hierarchy.name for call in calls] == ["zip"] * settings.UPLOADS_AT_ONCE


def test_pages(stub: hierarchy_service_pb2_grpc.HierarchyServiceStub, hierarchies: Mock) -> None:
    hierarchies.page.return_value = [stored("b", 2), stored("b", 1), stored("c")]
    page = stub.ListHierarchies(v1.ListHierarchiesRequest(page_size=2))
    assert [(found.name, found.version) for found in page.hierarchies] == [("b", 2), ("b", 1)]
    assert hierarchies.page.call_args.args == (("", 0), 3)
    hierarchies.page.return_value = []
    last = stub.ListHierarchies(v1.ListHierarchiesRequest(page_token=page.next_page_token))
    assert hierarchies.page.call_args.args == (("b", 1), 51)
    assert last.next_page_token == ""
