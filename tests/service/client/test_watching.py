"""Watching a job while streams break and servers restart."""

import threading
from collections.abc import Callable, Iterator

import grpc
import pytest

import tableveil.client.watching
from tableveil.client import Client, UnreachableError
from tableveil.errors import InfeasibleError, NotFoundError, TableveilError
from tableveil.v1 import faults_pb2, job_service_pb2
from tests.service.client import samples
from tests.service.client.fake_service import FakeService, Step

DONE = samples.succeeded("jobs/1", "releases/1")
FIRST, SECOND = samples.searching("jobs/1", 1), samples.searching("jobs/1", 2)
RUNNING = job_service_pb2.JOB_STATE_RUNNING


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries again at once, and gives up sooner."""
    monkeypatch.setattr(tableveil.client.watching, "RECONNECT_AFTER", (0.01, 0.1, 0.5))


def watched(client: Client) -> list[job_service_pb2.Job]:
    return list(client.watch_job("1"))


def test_every_change_until_the_end(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", [FIRST, SECOND, DONE], state=RUNNING)
    assert watched(client) == [FIRST, SECOND, DONE]


def test_an_ended_job(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_FAILED)
    assert [job.state for job in watched(client)] == [job_service_pb2.JOB_STATE_FAILED]


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN]
)
def test_a_broken_stream_is_opened_again(client: Client, service: FakeService, code: grpc.StatusCode) -> None:
    service.submit("jobs/1", [FIRST, code], [code], [FIRST, SECOND, code], [DONE], state=RUNNING)
    # Unchanged states are not repeated.
    assert watched(client) == [FIRST, SECOND, DONE]


def test_a_stream_that_ends_too_early_is_opened_again(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", [FIRST], [], [DONE], state=RUNNING)
    assert watched(client) == [FIRST, DONE]


def test_gives_up_in_the_end(client: Client, service: FakeService) -> None:
    broken: list[Step] = [grpc.StatusCode.UNAVAILABLE]
    service.submit("jobs/1", [FIRST], *[broken] * 10, state=RUNNING)
    jobs = client.watch_job("1")
    assert next(jobs) == FIRST
    with pytest.raises(UnreachableError):
        next(jobs)
    assert len(service.streams) == 10 - 3


def test_news_renew_the_patience(client: Client, service: FakeService) -> None:
    jobs = [samples.searching("jobs/1", number) for number in range(10)]
    streams: list[list[Step]] = [[job, grpc.StatusCode.UNAVAILABLE] for job in jobs]
    service.submit("jobs/1", *streams, [DONE], state=RUNNING)
    assert watched(client) == [*jobs, DONE]


def test_a_server_that_restarts(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", [FIRST, threading.Event()], state=RUNNING)
    jobs = client.watch_job("1")
    assert next(jobs) == FIRST
    threading.Timer(0.1, service.restart).start()
    service.jobs["jobs/1"] = DONE
    assert next(jobs) == DONE


def test_no_server_at_all_is_not_waited_for() -> None:
    with Client("127.0.0.1:1") as client, pytest.raises(UnreachableError):
        client.wait("1")


@pytest.mark.parametrize(
    ("kind", "error"),
    [(faults_pb2.FAILURE_KIND_NOT_FOUND, NotFoundError), (faults_pb2.FAILURE_KIND_INFEASIBLE, InfeasibleError)],
)
def test_what_the_service_says_is_final(
    client: Client, service: FakeService, kind: faults_pb2.FailureKind.ValueType, error: type[TableveilError]
) -> None:
    service.submit("jobs/1", [FIRST, samples.failure(kind, "CODE")], state=RUNNING)
    jobs = client.watch_job("1")
    assert next(jobs) == FIRST
    with pytest.raises(error):
        next(jobs)


def test_without_a_place_for_watchers_the_job_is_asked_for(client: Client, service: FakeService) -> None:
    service.jobs["jobs/1"] = FIRST
    service.failures["WatchJob"] = samples.failure(faults_pb2.FAILURE_KIND_BUSY, "WATCHERS")
    jobs = client.watch_job("1")
    assert next(jobs) == FIRST
    service.jobs["jobs/1"] = DONE
    assert list(jobs) == [DONE]


def test_wait_returns_the_job_that_succeeded(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", [FIRST, grpc.StatusCode.UNAVAILABLE], [DONE], state=RUNNING)
    assert client.wait("jobs/1") == DONE


def test_wait_raises_what_a_job_failed_with(client: Client, service: FakeService) -> None:
    ended = samples.failed("jobs/1", samples.failure(faults_pb2.FAILURE_KIND_INFEASIBLE, "INFEASIBLE"))
    service.submit("jobs/1", [FIRST, grpc.StatusCode.UNAVAILABLE], [ended], state=RUNNING)
    with pytest.raises(InfeasibleError) as raised:
        client.wait("jobs/1")
    assert raised.value.code == "INFEASIBLE"


def test_who_stops_watching_ends_the_stream(client: Client, service: FakeService) -> None:
    gone = threading.Event()

    def stream(request: object, context: grpc.ServicerContext) -> Iterator[job_service_pb2.WatchJobResponse]:
        context.add_callback(gone.set)
        yield job_service_pb2.WatchJobResponse(job=FIRST)
        gone.wait(10)

    replaced: Callable[..., Iterator[job_service_pb2.WatchJobResponse]] = stream
    service.WatchJob = replaced  # type: ignore[method-assign]  # one answer for one test
    service.restart()
    for _ in client.watch_job("1"):
        break
    assert gone.wait(20)


def test_a_wait_may_have_an_end(client: Client, service: FakeService) -> None:
    # The job goes on while the client waits: an answer that is there already comes even to a wait of 0 seconds.
    going_on = threading.Event()
    service.submit("jobs/1", [FIRST, going_on, DONE], state=RUNNING)
    with pytest.raises(TimeoutError, match=r"jobs/1 has not ended within 0\.2 seconds, and goes on"):
        client.wait(1, timeout=0.2)
    going_on.set()
    # The first watch may have taken the changes of its job.
    service.submit("jobs/2", [FIRST, DONE], state=RUNNING)
    assert client.wait(2, timeout=60).state == DONE.state
