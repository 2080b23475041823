"""Nobody gets past access control without a token that the server knows, nor beyond the roles that it gives."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from math import inf
from typing import Any
from unittest.mock import Mock

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from tableveil.access import AccessRole
from tableveil.client.token import with_token
from tableveil.identity import AuthenticatedBy, Credentials, Principal, Unauthenticated
from tableveil.identity.secret import OwnToken, new_secret
from tableveil.runtime import Job
from tableveil.server import access_control as access_control_module
from tableveil.server import open_streams
from tableveil.server.access_control import AccessControl, RolesByScope
from tableveil.server.call import declared
from tableveil.server.endpoint import ServerEndpoint
from tableveil.server.services import DESCRIPTORS
from tableveil.server.stores import Stores
from tableveil.serving.address import Listening
from tableveil.v1 import job_service_pb2, job_service_pb2_grpc
from tableveil.v1.job_service_pb2_grpc import JobServiceStub
from tests.authenticated import TOKEN
from tests.service.server.conftest import Start
from tests.service.server.test_jobs import job

Metadata = tuple[tuple[str, str | bytes], ...]

SECONDS = 60
"""How long a test waits for what should take a moment."""

METHODS = declared(DESCRIPTORS)

REFUSED: list[Metadata] = [
    (),
    (("authorization", f"Bearer {new_secret()}"),),
    (("authorization", f"Bearer {TOKEN[:-1]}x"),),
    (("authorization", f"Bearer {TOKEN} "),),
    (("authorization", f"Bearer  {TOKEN}"),),
    (("authorization", f"Basic {TOKEN}"),),
    (("authorization", TOKEN),),
    (("authorization", "Bearer "),),
    (("authorization", "Bearer"),),
    (("authorization", f"Bearer {TOKEN}"), ("authorization", f"Bearer {TOKEN}")),
    (("authorization", f"Bearer {TOKEN}, Bearer {TOKEN}"),),
    (("x-authorization", f"Bearer {TOKEN}"),),
    (("authorization-bin", f"Bearer {TOKEN}".encode()),),
]


@pytest.fixture
def anonymous(start: Start) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(start().addresses[0]) as channel:
        yield channel


def call(channel: grpc.Channel, metadata: Metadata) -> job_service_pb2.Job:
    stub = job_service_pb2_grpc.JobServiceStub(channel)
    return stub.GetJob(job_service_pb2.GetJobRequest(name="jobs/1"), metadata=metadata)


def code_of(channel: grpc.Channel, method: str, requests: list[Empty]) -> grpc.StatusCode:
    ask = channel.stream_stream(method, Empty.SerializeToString, Empty.FromString)
    with pytest.raises(grpc.RpcError) as raised:
        list(ask(iter(requests), timeout=10))
    code: grpc.StatusCode = raised.value.code()
    return code


def test_each_method_says_who_may_call_it() -> None:
    found = {f"/{service.full_name}/{method.name}" for service in DESCRIPTORS for method in service.methods}
    assert found == METHODS.keys()


def test_a_method_that_says_nothing_keeps_the_server_from_starting() -> None:
    health: Any = health_pb2.DESCRIPTOR.services_by_name.values()
    with pytest.raises(AssertionError, match="Check declares no access"):
        declared(health)


@pytest.mark.parametrize("metadata", REFUSED, ids=range(len(REFUSED)))
def test_whatever_is_wrong_with_a_token_reads_alike(
    anonymous: grpc.Channel, jobs: Mock, metadata: Metadata, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        call(anonymous, metadata)
    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED
    told = raised.value.details() or ""
    assert told.startswith("authorization: found no token that this server accepts; expected a valid token.")
    assert not jobs.method_calls
    assert "tvl_" not in told + caplog.text


def test_no_method_answers_without_a_token(anonymous: grpc.Channel) -> None:
    for method in METHODS:
        assert code_of(anonymous, method, [Empty()]) is grpc.StatusCode.UNAUTHENTICATED, method


def test_what_the_protos_hold_is_not_for_strangers(anonymous: grpc.Channel) -> None:
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(anonymous)
    with pytest.raises(grpc.RpcError) as raised:
        list(stub.ServerReflectionInfo(iter([asked])))
    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED
    stub = reflection_pb2_grpc.ServerReflectionStub(with_token(anonymous, lambda: TOKEN))
    (answer,) = stub.ServerReflectionInfo(iter([asked]))
    assert answer.list_services_response.service


def test_anybody_may_ask_for_the_health(anonymous: grpc.Channel) -> None:
    stub: Any = health_pb2_grpc.HealthStub(anonymous)
    assert stub.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
    watched = stub.Watch(health_pb2.HealthCheckRequest())
    assert next(watched).status == health_pb2.HealthCheckResponse.SERVING
    watched.cancel()


def test_a_header_of_a_megabyte_harms_nobody(anonymous: grpc.Channel, jobs: Mock) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        call(anonymous, (("authorization", f"Bearer {'x' * 2**20}"),))
    assert raised.value.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)
    assert not jobs.method_calls
    with pytest.raises(grpc.RpcError) as raised:
        call(anonymous, ())
    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED


class Revocable:
    """Accepts every caller until it does not; then it answers a number of times at once, the next time at the end."""

    def __init__(self, answers: float) -> None:
        self.revoked = False
        self.answers = answers
        self.end = threading.Event()

    def authenticate(self, credentials: Credentials) -> Principal:
        if self.revoked:
            self.answers -= 1
            assert self.answers >= 0 or self.end.wait(SECONDS)
            raise Unauthenticated("revoked token")
        return Principal("clerk", frozenset(), AuthenticatedBy.TOKEN, frozenset(AccessRole))


@pytest.mark.parametrize("is_quiet", [True, False])
def test_a_stream_ends_once_its_caller_is_nobody(
    jobs: Mock, stores: Stores, monkeypatch: pytest.MonkeyPatch, is_quiet: bool
) -> None:
    monkeypatch.setattr(open_streams, "SECONDS_BETWEEN_LOOKS", 0.05)
    ended = threading.Event()

    def watch(number: int, is_gone: Callable[[], bool]) -> Iterator[Job]:
        yield job(number)
        while not is_gone():
            time.sleep(0.01)
            if not is_quiet:
                yield job(number)
        ended.set()

    jobs.watch.side_effect = watch
    # A stream that is not quiet ends by itself once it was found; a second look must not be sooner.
    known = Revocable(inf if is_quiet else 1)
    with closing(AccessControl(METHODS, known, RolesByScope(tuple))) as access_control:
        endpoint = ServerEndpoint(jobs, stores, access_control, Listening(("127.0.0.1:0",)), 4)
        endpoint.start()
        try:
            with grpc.insecure_channel(endpoint.addresses[0]) as channel:
                watched = job_service_pb2_grpc.JobServiceStub(channel).WatchJob(
                    job_service_pb2.WatchJobRequest(name="jobs/1"), timeout=SECONDS
                )
                next(watched)
                known.revoked = True
                with pytest.raises(grpc.RpcError) as raised:
                    list(watched)
            expected = grpc.StatusCode.CANCELLED if is_quiet else grpc.StatusCode.UNAUTHENTICATED
            assert raised.value.code() is expected
            assert not is_quiet or ended.wait(SECONDS), "its thread is free again"
        finally:
            known.end.set()
            endpoint.stop(0.0)


@pytest.mark.parametrize("role", AccessRole)
def test_each_method_is_refused_without_its_roles(jobs: Mock, stores: Stores, role: AccessRole) -> None:
    principal = Principal("clerk", frozenset(), AuthenticatedBy.TOKEN, frozenset({role}))
    with closing(AccessControl(METHODS, OwnToken(TOKEN, principal), RolesByScope(tuple))) as access_control:
        endpoint = ServerEndpoint(jobs, stores, access_control, Listening(("127.0.0.1:0",)), 4)
        endpoint.start()
        try:
            with with_token(grpc.insecure_channel(endpoint.addresses[0]), lambda: TOKEN) as channel:
                for method, access in METHODS.items():
                    if role in access.roles:
                        continue
                    assert code_of(channel, method, [Empty()]) is grpc.StatusCode.PERMISSION_DENIED, method
                    # A stream without any message asks for something as well.
                    assert code_of(channel, method, []) is not grpc.StatusCode.OK
        finally:
            endpoint.stop(0.0)
    assert not jobs.method_calls


def test_strangers_wait_and_hold_few_threads(
    channel: grpc.Channel, anonymous: grpc.Channel, jobs: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, passed = threading.Semaphore(0), threading.Event()

    def sleep(_: float) -> None:
        waiting.release()
        assert passed.wait(60)

    monkeypatch.setattr(access_control_module, "sleep", sleep)
    ask = JobServiceStub(anonymous).ListJobs
    try:
        delayed = [ask.future(job_service_pb2.ListJobsRequest()) for _ in range(access_control_module.DELAYED_AT_ONCE)]
        for _ in delayed:
            assert waiting.acquire(timeout=60)
        # The next stranger is refused at once, and others are answered.
        with pytest.raises(grpc.RpcError):
            ask(job_service_pb2.ListJobsRequest(), timeout=60)
        jobs.page.return_value = []
        JobServiceStub(channel).ListJobs(job_service_pb2.ListJobsRequest(), timeout=60)
        assert not any(call.done() for call in delayed)
    finally:
        passed.set()
    assert {call.code() for call in delayed} == {grpc.StatusCode.UNAUTHENTICATED}
