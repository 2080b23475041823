"""Exceptions of failing calls."""

from collections.abc import Callable, Iterator
from concurrent import futures

import grpc
import pytest

import tableveil.client.connection
from tableveil.client import Client, UnreachableError
from tableveil.client.failures import error_from, failure_of
from tableveil.errors import (
    BusyError,
    CancelledError,
    ConflictError,
    DeniedError,
    Fault,
    GuardedError,
    InfeasibleError,
    InternalError,
    InvalidError,
    NotFoundError,
    TableveilError,
    UnauthenticatedError,
)
from tableveil.runtime import Failure
from tableveil.server.status import status_of
from tableveil.v1 import faults_pb2, job_service_pb2
from tests.service.client import samples
from tests.service.client.fake_service import FakeService

KINDS: list[tuple[faults_pb2.FailureKind.ValueType, type[TableveilError]]] = [
    (faults_pb2.FAILURE_KIND_INVALID, InvalidError),
    (faults_pb2.FAILURE_KIND_NOT_FOUND, NotFoundError),
    (faults_pb2.FAILURE_KIND_INFEASIBLE, InfeasibleError),
    (faults_pb2.FAILURE_KIND_CONFLICT, ConflictError),
    (faults_pb2.FAILURE_KIND_BUSY, BusyError),
    (faults_pb2.FAILURE_KIND_CANCELLED, CancelledError),
    (faults_pb2.FAILURE_KIND_INTERNAL, InternalError),
    (faults_pb2.FAILURE_KIND_UNAUTHENTICATED, UnauthenticatedError),
    (faults_pb2.FAILURE_KIND_DENIED, DeniedError),
    (faults_pb2.FAILURE_KIND_GUARDED, GuardedError),
]


def test_there_is_a_class_for_every_kind() -> None:
    assert [kind for kind, _ in KINDS] == faults_pb2.FailureKind.values()[1:]


@pytest.mark.parametrize(("kind", "error"), KINDS)
def test_details_become_the_errors_of_the_tree(
    client: Client, service: FakeService, kind: faults_pb2.FailureKind.ValueType, error: type[TableveilError]
) -> None:
    service.failures["GetJob"] = samples.failure(kind, "SOME_CODE", "a.b[1]", "c")
    with pytest.raises(TableveilError) as caught:
        client.get_job("1")
    assert type(caught.value) is error
    assert caught.value.code == "SOME_CODE"
    assert caught.value.message == "something is wrong"
    assert caught.value.faults == (Fault("a.b[1]", "this", "that", "Do so."), Fault("c", "this", "that", "Do so."))
    # The traceback ends here, not in gRPC.
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(("kind", "error"), KINDS)
def test_errors_survive_the_way_there_and_back(
    kind: faults_pb2.FailureKind.ValueType, error: type[TableveilError]
) -> None:
    failure = samples.failure(kind, "SOME_CODE", "field")
    assert type(error_from(failure)) is error
    assert failure_of(error_from(failure)) == failure


def test_relaxations_survive_the_way_there_and_back() -> None:
    failure = samples.infeasible(("privacy_models[0].k_anonymity.k", "4"), ("search.levels", ""))
    error = error_from(failure)
    assert isinstance(error, InfeasibleError)
    assert [str(relaxation) for relaxation in error.relaxations] == [
        "privacy_models[0].k_anonymity.k = 4 and no search.levels"
    ]
    assert not error.relaxations[0].nearest
    assert failure_of(error) == failure


def test_a_file_name_need_not_be_unicode() -> None:
    error = InvalidError.of("PATH_NOT_FOUND", "output", "caf\udce9", "a path")
    assert failure_of(error).faults[0].found == "caf?"


def test_no_server() -> None:
    with Client("127.0.0.1:1") as client, pytest.raises(UnreachableError) as caught:
        client.get_job("1")
    assert caught.value.code == "UNREACHABLE"
    assert "no answer at 127.0.0.1:1" in caught.value.message
    assert "tableveil serve" in caught.value.message


def test_no_such_host() -> None:
    with Client("no such host") as client, pytest.raises(UnreachableError):
        client.get_job("1")


def test_no_answer_in_time(client: Client, service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tableveil.client.connection, "SECONDS_TO_ANSWER", 0.2)
    service.failures["GetJob"] = service.resume
    with pytest.raises(UnreachableError) as caught:
        client.get_job("1")
    assert caught.value.code == "DEADLINE"


def test_message_over_the_limit() -> None:
    policy = samples.policy()
    policy.repeat_reason = "x" * 100_000
    with FakeService(message_limit=50_000) as service, Client(service.address) as client:
        with pytest.raises(InvalidError) as caught:
            client.submit(policy)
        assert caught.value.code == "MESSAGE_TOO_LARGE"
        [fault] = caught.value.faults
        assert fault.found.startswith("100,")
        assert fault.expected == "at most 50,000 bytes"


@pytest.fixture
def stranger() -> Iterator[Client]:
    """A client of a gRPC server that is not Tableveil."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Client(f"127.0.0.1:{port}") as client:
        yield client
    server.stop(0).wait()


def test_another_service(stranger: Client) -> None:
    with pytest.raises(UnreachableError) as caught:
        stranger.get_job("1")
    assert caught.value.code == "NOT_TABLEVEIL"


def test_a_status_without_details(client: Client, service: FakeService) -> None:
    service.failures["GetJob"] = grpc.StatusCode.DATA_LOSS
    with pytest.raises(InternalError, match="DATA_LOSS: broken by the test"):
        client.get_job("1")


def test_a_kind_this_version_does_not_know(client: Client, service: FakeService) -> None:
    failure = job_service_pb2.Job(failure=faults_pb2.Failure(code="NEW", message="news"))
    error = error_from(failure.failure)
    assert type(error) is InternalError
    assert error.code == "NEW"


class Limited(FakeService):
    """Refuses the first calls, which are too many."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.retry_seconds = 0.01

    def GetJob(  # noqa: N802
        self, request: job_service_pb2.GetJobRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._refuse(context)
        return super().GetJob(request, context)

    def SubmitJob(  # noqa: N802
        self, request: job_service_pb2.SubmitJobRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.Job:
        self._refuse(context)
        return super().SubmitJob(request, context)

    def _refuse(self, context: grpc.ServicerContext) -> None:
        self.asked += 1
        if self.asked < 3:
            error = BusyError("RATE_LIMITED", "too many")
            error.retry_seconds = self.retry_seconds
            context.abort_with_status(status_of(Failure.of(error)))


@pytest.mark.parametrize("ask", [lambda client: client.get_job("1"), lambda client: client.submit(samples.policy())])
def test_a_call_too_many_is_made_again_when_the_server_says(ask: Callable[[Client], job_service_pb2.Job]) -> None:
    with Limited() as service, Client(service.address) as client:
        service.jobs["jobs/1"] = job_service_pb2.Job(name="jobs/1")
        assert ask(client).name == "jobs/1"
        assert service.asked == 3
        service.asked, service.retry_seconds = 0, 1000.0
        with pytest.raises(BusyError) as raised:
            ask(client)
        assert raised.value.retry_seconds == 1000.0
