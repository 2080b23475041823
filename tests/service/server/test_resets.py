"""Streams that are cancelled at once, many of them ("rapid reset", CVE-2023-44487): the server goes on answering."""

import base64
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack

import grpc
import pytest

from tableveil.v1 import job_service_pb2, job_service_pb2_grpc
from tests import http2
from tests.service.access.house import House, opened
from tests.service.server.test_left_streams import CALLS, needs_node

CONNECTIONS = 4
SECONDS = 60.0
METHODS = ("JobService/ListJobs", "JobService/WatchJob", "JobService/CheckPolicy", "HierarchyService/CreateHierarchy")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("reset"), stream_limit=2) as house:
        yield house


def is_answered(house: House, who: str) -> bool:
    """Whether a principal has an answer in time; while too many wait, it asks again, as grpc.md says."""
    until = time.monotonic() + SECONDS
    ask = job_service_pb2_grpc.JobServiceStub(house.channels[who]).ListJobs
    while (left := until - time.monotonic()) > 0:
        call = ask.future(job_service_pb2.ListJobsRequest(), timeout=left)
        if call.code() is grpc.StatusCode.OK:
            return True
        assert call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED, call.details()
        time.sleep(0.5)
    return False


@pytest.mark.parametrize("known", [True, False], ids=["ann", "a stranger"])
@pytest.mark.parametrize("rounds", [25, pytest.param(500, marks=pytest.mark.long)])
def test_streams_that_are_reset_at_once_hold_nothing_up(house: House, rounds: int, known: bool) -> None:
    token = house.token_file("ann").read_text() if known else None
    made = 0
    with ExitStack() as opened_ones:

        def connect() -> http2.Connection:
            return opened_ones.enter_context(http2.Connection(house.server.address, token))

        connections = [connect() for _ in range(CONNECTIONS)]
        for _ in range(rounds):
            for i, connection in enumerate(connections):
                for method in METHODS:
                    stream = connection.call(f"/tableveil.v1.{method}", 0)
                    connection.send_data(stream, b"", ends=True)
                    connection.reset(stream)
                    made += 1
                connection.pump()
                if connection.closed:
                    # The server may end such a connection; the attacker opens another one.
                    connections[i] = connect()
        assert is_answered(house, "bob")
    assert made == rounds * CONNECTIONS * len(METHODS)
    assert is_answered(house, "ann"), "what was left counts no more against its principal"


@pytest.mark.long
@needs_node
def test_calls_that_node_cancels_at_once_hold_nothing_up(house: House) -> None:
    request = base64.b64encode(job_service_pb2.ListJobsRequest().SerializeToString()).decode()
    command = ["node", str(CALLS), house.server.address, "/tableveil.v1.JobService/ListJobs", request, "reset", "3000"]
    environment = {**os.environ, "TABLEVEIL_TOKEN": house.token_file("ann").read_text()}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            assert is_answered(house, "bob")
        assert process.stdout is not None
        found = json.loads(process.stdout.read())
    assert sum(found.values()) == 3000
    assert any(status.startswith("CANCELLED") for status in found)
    assert is_answered(house, "ann")
