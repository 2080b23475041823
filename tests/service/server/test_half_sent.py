"""Calls that announce a large message and never send it whole hold neither memory nor threads of others."""

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from unittest.mock import Mock

import grpc
import pytest
from grpc_health.v1 import health_pb2

from tableveil.access import AccessRole
from tableveil.errors import BusyError
from tableveil.fair_use import FairUse, Limits
from tableveil.identity import AuthenticatedBy, Credentials, Principal
from tableveil.server import health_calls, job_service
from tableveil.server.access_control import AccessControl, RolesByScope
from tableveil.server.call import declared
from tableveil.server.endpoint import ServerEndpoint
from tableveil.server.limited import LimitedCalls, Slots
from tableveil.server.services import DESCRIPTORS
from tableveil.server.stores import Stores
from tableveil.serving.address import Listening
from tableveil.serving.settings import HEALTH_THREADS, LARGEST_MESSAGE, STREAMS_PER_CONNECTION
from tableveil.v1 import job_service_pb2, job_service_pb2_grpc
from tests import authenticated, http2
from tests.service.server.conftest import Start
from tests.service.server.test_streams import health_stub

SECONDS = 60.0
METHODS = declared(DESCRIPTORS)
HEALTH = "/grpc.health.v1.Health/"


def until(condition: Callable[[], bool], *connections: http2.Connection) -> None:
    """Sends and receives until it holds."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        if not sum(connection.pump() for connection in connections):
            time.sleep(0.005)


def pumped(seconds: float, connection: http2.Connection) -> None:
    """Sends and receives for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not connection.pump():
            time.sleep(0.005)


def test_no_method_takes_a_message_of_a_stranger(start: Start) -> None:
    with http2.Connection(start().addresses[0]) as stranger:
        for method in METHODS:
            stranger.call(method, LARGEST_MESSAGE)
        until(lambda: not stranger.open, stranger)
        assert stranger.sent <= len(METHODS) * http2.USUAL_WINDOW


@pytest.mark.parametrize("method", ["Check", "Watch"])
def test_checks_of_the_health_are_received_a_few_at_a_time(
    start: Start, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(health_calls, "HEALTH_MESSAGES", 2)
    address = start().addresses[0]
    with http2.Connection(address) as stranger, authenticated.channel(address) as channel:
        for _ in range(20):
            stranger.call(HEALTH + method, LARGEST_MESSAGE)
        until(lambda: stranger.open == 2 and stranger.sent > LARGEST_MESSAGE, stranger)
        request = health_pb2.HealthCheckRequest()
        stub = health_stub(channel)
        assert stub.Check(request, timeout=SECONDS).status == health_pb2.HealthCheckResponse.SERVING
        watch = stub.Watch(request, timeout=SECONDS)
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        watch.cancel()


def test_the_longest_watch_of_the_health_gives_way(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_calls, "HEALTH_WATCHES", 2)
    with authenticated.channel(start().addresses[0]) as channel:
        stub, request = health_stub(channel), health_pb2.HealthCheckRequest()
        watches = [stub.Watch(request, timeout=SECONDS) for _ in range(1)]
        for _ in range(2):
            next(watches[-1])
            watches.append(stub.Watch(request, timeout=SECONDS))
        next(watches[-1])
        with pytest.raises(grpc.RpcError) as raised:
            next(watches[0])
        assert raised.value.code() is grpc.StatusCode.CANCELLED
        for watch in watches:
            watch.cancel()


def whole(connection: http2.Connection, method: str) -> int:
    """Sends a call with an empty message."""
    stream = connection.call(method, 0)
    connection.send_data(stream, b"", ends=True)
    return stream


def is_alive(address: str) -> bool:
    with authenticated.channel(address) as channel:
        answer = health_stub(channel).Check(health_pb2.HealthCheckRequest(), timeout=SECONDS)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def test_watches_that_come_and_go_hold_nothing_up(start: Start) -> None:
    """A stranger stopped the whole server so: the end of a watch waited for the beginning of another one."""
    address = start().addresses[0]
    with ExitStack() as opened:
        strangers = [opened.enter_context(http2.Connection(address)) for _ in range(4)]
        for _ in range(100):
            for stranger in strangers:
                streams = [whole(stranger, f"{HEALTH}Watch") for _ in range(3)]
                stranger.pump()
                for stream in streams:
                    stranger.reset(stream)
        assert is_alive(address)


def test_a_watcher_who_takes_nothing_holds_nothing_up(start: Start) -> None:
    endpoint = start()
    address = endpoint.addresses[0]
    with http2.Connection(address, takes=0) as stranger:
        for _ in range(HEALTH_THREADS + 10):
            whole(stranger, f"{HEALTH}Watch")
        pumped(1.0, stranger)
        assert is_alive(address)
        with authenticated.channel(address) as channel:
            watch = health_stub(channel).Watch(
                health_pb2.HealthCheckRequest(service="tableveil.v1.JobService"), timeout=SECONDS
            )
            assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
            endpoint.retire()
            assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.mark.parametrize("method", ["Check", "Watch"])
def test_an_unreadable_check_is_refused(start: Start, method: str) -> None:
    with authenticated.channel(start().addresses[0]) as channel:
        ask = channel.stream_stream(HEALTH + method, bytes, health_pb2.HealthCheckResponse.FromString)
        for requests in ([b"\xff"], []):
            with pytest.raises(grpc.RpcError) as raised:
                next(ask(iter(requests), timeout=SECONDS))
            assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_connection_has_so_many_calls(start: Start) -> None:
    with http2.Connection(start().addresses[0], authenticated.TOKEN) as greedy:
        pumped(0.2, greedy)
        for _ in range(STREAMS_PER_CONNECTION * 2):
            greedy.call("/tableveil.v1.JobService/ListJobs", LARGEST_MESSAGE, most=0)
        until(lambda: greedy.open <= STREAMS_PER_CONNECTION, greedy)


def test_a_principal_sends_so_many_bytes_at_once(jobs: Mock, stores: Stores) -> None:
    """And others do not notice."""
    jobs.page.return_value = []

    def named(credentials: Credentials) -> Principal:
        return Principal(credentials.bearer or "", frozenset(), AuthenticatedBy.TOKEN, frozenset(AccessRole))

    most = 2
    use = LimitedCalls(FairUse(Limits(bytes=most * LARGEST_MESSAGE)))
    with closing(AccessControl(METHODS, Mock(authenticate=named), RolesByScope(tuple), fair_use=use)) as access_control:
        endpoint = ServerEndpoint(jobs, stores, access_control, Listening(("127.0.0.1:0",)), 8)
        endpoint.start()
        address = endpoint.addresses[0]
        with ExitStack() as held:
            held.callback(endpoint.stop, 0.0)
            greedy = held.enter_context(http2.Connection(address, authenticated.TOKEN))
            for _ in range(12):
                greedy.call("/tableveil.v1.JobService/ListJobs", LARGEST_MESSAGE)
            until(lambda: greedy.open == most and greedy.sent > most * (LARGEST_MESSAGE - 2), greedy)
            channel = held.enter_context(grpc.insecure_channel(address))
            stub = job_service_pb2_grpc.JobServiceStub(channel)
            metadata = (("authorization", "Bearer another"),)
            stub.ListJobs(job_service_pb2.ListJobsRequest(), metadata=metadata, timeout=SECONDS)


def test_a_check_that_finds_no_slot_converts_nothing(jobs: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy with its hierarchies takes many times the memory of its message."""
    converted = Mock()
    monkeypatch.setattr(job_service, "policy_from_proto", converted)
    checks = Slots(1, "running checks")
    service = job_service.JobService(Mock(jobs=jobs, checks=checks))
    with checks.taken(), pytest.raises(BusyError, match="running checks"):
        service.CheckPolicy(job_service_pb2.CheckPolicyRequest(), Mock())
    converted.assert_not_called()
