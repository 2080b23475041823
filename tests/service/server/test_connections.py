"""Strangers who open connections leave the process the files that it needs, and the connections that stand."""

import resource
import socket
from contextlib import ExitStack, suppress
from unittest.mock import Mock

import pytest

from tableveil.server import endpoint
from tableveil.serving.address import Listening
from tableveil.v1 import job_service_pb2, job_service_pb2_grpc
from tests import authenticated
from tests.service.server.conftest import Start

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The first bytes of a client of HTTP/2."""


def is_let_in(stranger: socket.socket) -> bool:
    """Whether the server greets in turn, rather than closing the connection."""
    with suppress(ConnectionError):
        stranger.sendall(GREETING)
        return bool(stranger.recv(1))
    return False


def test_connections_beyond_a_share_of_the_files_are_closed(
    start: Start, jobs: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10, 10))
    jobs.page.return_value = []
    address = start().addresses[0]
    host, port = address.rsplit(":", 1)
    with authenticated.channel(address) as channel, ExitStack() as opened:
        stub = job_service_pb2_grpc.JobServiceStub(channel)
        stub.ListJobs(job_service_pb2.ListJobsRequest())
        strangers = [opened.enter_context(socket.create_connection((host, int(port)), 30)) for _ in range(6)]
        assert [is_let_in(stranger) for stranger in strangers] == [True] * 4 + [False] * 2
        stub.ListJobs(job_service_pb2.ListJobsRequest())


@pytest.mark.parametrize(("files", "addresses", "most"), [(4096, 1, 2048), (4096, 2, 1024), (1, 1, 1)])
def test_addresses_share_the_connections(
    monkeypatch: pytest.MonkeyPatch, files: int, addresses: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert endpoint._most_connections(Listening(("127.0.0.1:0",) * addresses)) == most


def test_no_limit_of_files_is_none_of_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert endpoint._most_connections(Listening()) > 100_000
