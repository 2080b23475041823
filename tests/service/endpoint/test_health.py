"""The health of an endpoint by gRPC, which strangers do not hold up."""

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tableveil.endpoint.endpoint import Endpoint
from tableveil.errors import BusyError
from tableveil.serving import health
from tests import http2
from tests.service.endpoint.published import KnownReaders, serving

SERVING, NOT_SERVING = health.Response.SERVING, health.Response.NOT_SERVING
CHECK = "/grpc.health.v1.Health/Check"


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setattr(health, "_SECONDS_BETWEEN_LOOKS", 0.05)
    (tmp_path / "published").mkdir()
    with serving(tmp_path, KnownReaders(), health_address="127.0.0.1:0") as endpoint:
        yield endpoint


def address(endpoint: Endpoint) -> str:
    assert endpoint.health_address is not None
    return f"127.0.0.1:{endpoint.health_address.port}"


def asked(endpoint: Endpoint, service: str, method: str = "Check") -> Any:
    """The answer to a new connection."""
    with grpc.insecure_channel(address(endpoint)) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = getattr(stub, method)(health_pb2.HealthCheckRequest(service=service), timeout=30)
        return answer.status if method == "Check" else list(answer)


def becomes(endpoint: Endpoint, status: int) -> bool:
    """Whether the endpoint is soon said to be ready, or not."""
    until = time.monotonic() + 30
    while asked(endpoint, health.READY) != status and time.monotonic() < until:
        time.sleep(0.05)
    return bool(asked(endpoint, health.READY) == status)


def test_it_lives_and_is_ready_while_its_directory_is_there(endpoint: Endpoint, tmp_path: Path) -> None:
    assert becomes(endpoint, SERVING)
    shutil.rmtree(tmp_path / "published")
    assert becomes(endpoint, NOT_SERVING)
    assert asked(endpoint, "") == SERVING
    for service, method, code in (
        ("other", "Check", grpc.StatusCode.NOT_FOUND),
        ("", "Watch", grpc.StatusCode.UNIMPLEMENTED),
    ):
        with pytest.raises(grpc.RpcError) as raised:
            asked(endpoint, service, method)
        assert raised.value.code() is code


def test_half_sent_and_oversized_checks_hold_nothing_up(endpoint: Endpoint) -> None:
    with ExitStack() as opened:
        strangers = [opened.enter_context(http2.Connection(address(endpoint))) for _ in range(40)]
        for stranger in strangers:
            for size in (500, 900, 2**24, 2**30):
                stranger.call(CHECK, size)
            stranger.pump()
        assert asked(endpoint, "") == SERVING


@pytest.mark.long
def test_an_address_in_use_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    with (
        pytest.raises(BusyError, match="health_address"),
        serving(tmp_path, KnownReaders(), health_address=address(endpoint)),
    ):
        pass
