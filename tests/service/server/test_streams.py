"""However many clients watch: unary calls and health checks are answered, and slots of the gone come back."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast
from unittest.mock import Mock

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from tableveil.runtime import Job
from tableveil.server.access_control import AccessControl
from tableveil.server.endpoint import ServerEndpoint
from tableveil.server.services import NAMES
from tableveil.server.stores import Stores
from tableveil.serving.address import Listening
from tableveil.v1 import job_service_pb2 as v1
from tableveil.v1 import job_service_pb2_grpc
from tests import authenticated

LIMIT = 5
SECONDS_TO_TELL = 20.0
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Watched:
    """A job that never changes, and how many watch it."""

    def __init__(self) -> None:
        self.watchers = 0
        self._lock = threading.Lock()

    def watch(self, number: int, stopped: Callable[[], bool]) -> Iterator[Job]:
        with self._lock:
            self.watchers += 1
        try:
            yield Mock(spec=Job)
            while not stopped():
                time.sleep(0.05)
        finally:
            with self._lock:
                self.watchers -= 1


@pytest.fixture
def watched(jobs: Mock, monkeypatch: pytest.MonkeyPatch) -> Watched:
    watched = Watched()
    jobs.watch.side_effect = watched.watch
    jobs.page.return_value = []
    monkeypatch.setattr("tableveil.server.job_service.job_to_proto", lambda job: v1.Job(name="jobs/1"))
    return watched


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS_TO_TELL
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


def watching(channel: grpc.Channel, count: int) -> list[Any]:
    """Streams that have begun."""
    stub = job_service_pb2_grpc.JobServiceStub(channel)
    streams = [stub.WatchJob(v1.WatchJobRequest(name="jobs/1")) for _ in range(count)]
    for stream in streams:
        assert next(stream).job.name == "jobs/1"
    return streams


def watching_at_last(channel: grpc.Channel, count: int) -> list[Any]:
    """Such streams, as soon as there are slots again: a moment after their watches have ended."""
    streams: list[Any] = []

    def all_watch() -> bool:
        with suppress(grpc.RpcError):
            streams.extend(watching(channel, 1))
        return len(streams) == count

    assert eventually(all_watch)
    return streams


def health_stub(channel: grpc.Channel) -> Any:
    return health_pb2_grpc.HealthStub(channel)


def check(channel: grpc.Channel, service: str = "") -> int:
    request = health_pb2.HealthCheckRequest(service=service)
    status: int = health_stub(channel).Check(request, timeout=SECONDS_TO_TELL).status
    return status


def test_watchers_starve_nobody(serve: Callable[..., grpc.Channel], watched: Watched) -> None:
    channel = serve(stream_limit=LIMIT)
    streams = watching(channel, LIMIT)
    assert watched.watchers == LIMIT
    stub = job_service_pb2_grpc.JobServiceStub(channel)
    unary = [stub.ListJobs.future(v1.ListJobsRequest(), timeout=SECONDS_TO_TELL) for _ in range(100)]
    assert all(call.result() == v1.ListJobsResponse() for call in unary)
    assert check(channel) == SERVING
    for stream in streams:
        stream.cancel()


def test_more_watchers_than_slots_are_told_to_come_back(serve: Callable[..., grpc.Channel], watched: Watched) -> None:
    channel = serve(stream_limit=LIMIT)
    streams = watching(channel, LIMIT)
    for _ in range(50):
        with pytest.raises(grpc.RpcError) as raised:
            watching(channel, 1)
        assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    retry = error_details_pb2.RetryInfo()
    status = rpc_status.from_call(cast(grpc.Call, raised.value))
    assert any(detail.Unpack(retry) for detail in status.details)
    assert retry.retry_delay.seconds == 1
    streams.pop().cancel()
    assert eventually(lambda: watched.watchers == LIMIT - 1)
    streams += watching_at_last(channel, 1)
    for stream in streams:
        stream.cancel()
    assert eventually(lambda: watched.watchers == 0)


@pytest.mark.parametrize("leave", ["cancel", "deadline", "disconnect"])
def test_slots_of_the_gone_come_back(serve: Callable[..., grpc.Channel], watched: Watched, leave: str) -> None:
    channel = serve(stream_limit=LIMIT)
    if leave == "deadline":
        stub = job_service_pb2_grpc.JobServiceStub(channel)
        for _ in range(LIMIT):
            stream = stub.WatchJob(v1.WatchJobRequest(name="jobs/1"), timeout=0.2)
            with pytest.raises(grpc.RpcError):
                list(stream)
    else:
        streams = watching(channel, LIMIT)
        assert watched.watchers == LIMIT
        if leave == "disconnect":
            channel.close()
        else:
            for stream in streams:
                stream.cancel()
    assert eventually(lambda: watched.watchers == 0)


def test_clients_that_come_and_go_leak_nothing(serve: Callable[..., grpc.Channel], watched: Watched) -> None:
    channel = serve(stream_limit=LIMIT)
    stub = job_service_pb2_grpc.JobServiceStub(channel)
    for _ in range(200):
        # Cancelled at any moment, before the handler begins among them.
        stub.WatchJob(v1.WatchJobRequest(name="jobs/1")).cancel()
    assert eventually(lambda: watched.watchers == 0)
    for stream in watching_at_last(channel, LIMIT):
        stream.cancel()


def test_watching_the_health_holds_no_slot(serve: Callable[..., grpc.Channel], watched: Watched) -> None:
    channel = serve(stream_limit=1)
    watches = [health_stub(channel).Watch(health_pb2.HealthCheckRequest()) for _ in range(50)]
    assert {next(watch).status for watch in watches} == {SERVING}
    for stream in (*watching(channel, 1), *watches):
        stream.cancel()


def test_health_says_that_the_server_is_stopping(jobs: Mock, stores: Stores, access_control: AccessControl) -> None:
    endpoint = ServerEndpoint(jobs, stores, access_control, Listening(("127.0.0.1:0",)), LIMIT)
    endpoint.start()
    with authenticated.channel(endpoint.addresses[0]) as channel:
        watch = health_stub(channel).Watch(health_pb2.HealthCheckRequest(service=NAMES[0]), timeout=SECONDS_TO_TELL)
        assert next(watch).status == SERVING
        assert {check(channel, service) for service in ("", *NAMES)} == {SERVING}
        endpoint.retire()
        assert next(watch).status == NOT_SERVING
        assert {check(channel, service) for service in NAMES} == {NOT_SERVING}
        assert check(channel, "") == SERVING, "it lives until it is gone"
        endpoint.stop(0.1)
        with pytest.raises(grpc.RpcError) as raised:
            check(channel)
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


def test_stopping_ends_streams(jobs: Mock, stores: Stores, access_control: AccessControl, watched: Watched) -> None:
    endpoint = ServerEndpoint(jobs, stores, access_control, Listening(("127.0.0.1:0",)), LIMIT)
    endpoint.start()
    with authenticated.channel(endpoint.addresses[0]) as channel:
        (stream,) = watching(channel, 1)
        before = time.monotonic()
        endpoint.stop(0.2)
        assert time.monotonic() - before < SECONDS_TO_TELL
        assert watched.watchers == 0
        with pytest.raises(grpc.RpcError):
            next(stream)


def test_reflection_lists_the_services(channel: grpc.Channel) -> None:
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    (response,) = stub.ServerReflectionInfo(iter([request]))
    names = {service.name for service in response.list_services_response.service}
    assert names == {*NAMES, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    assert "tableveil.v1.JobService" in names
