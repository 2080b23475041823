"""The health service by itself: its watchers are told what changes, whatever they take meanwhile."""

import threading
from collections.abc import Callable
from unittest.mock import Mock

import pytest
from grpc_health.v1 import health_pb2

from tableveil.server.health import Health, Response

SERVING, NOT_SERVING, UNKNOWN = Response.SERVING, Response.NOT_SERVING, Response.SERVICE_UNKNOWN
Work = Callable[[], None]


def watched(health: Health, service: str, begun: list[Work], *, alive: bool = True) -> tuple[list[int], Mock]:
    """The statuses that a watcher is sent, once the work is done that was begun; and the watch's context."""
    told: list[int] = []
    context = Mock()
    context.add_callback.return_value = alive
    request = health_pb2.HealthCheckRequest(service=service)
    health.Watch(request, context, lambda response: told.append(response.status), begun.append)
    return told, context


def do(begun: list[Work]) -> None:
    while begun:
        begun.pop(0)()


def test_a_watcher_is_told_the_last_status_and_none_twice() -> None:
    health, begun = Health(), list[Work]()
    told, context = watched(health, "jobs", begun)
    do(begun)
    health.set(["jobs", "tables"], SERVING)
    health.set(["jobs"], NOT_SERVING)
    health.set(["tables"], NOT_SERVING)
    do(begun)
    health.set(["jobs"], NOT_SERVING)
    do(begun)
    assert told == [UNKNOWN, NOT_SERVING]
    (leave,), _ = context.add_callback.call_args
    leave()
    health.set(["jobs"], SERVING)
    assert not begun


def test_a_status_that_changes_before_the_first_one_is_sent_is_not_lost() -> None:
    health, begun = Health(), list[Work]()
    health.set(["jobs"], SERVING)
    told, _ = watched(health, "jobs", begun)
    health.set(["jobs"], NOT_SERVING)
    do(begun)
    assert told == [NOT_SERVING]


def test_nobody_is_told_who_is_gone() -> None:
    health, begun = Health(), list[Work]()
    watched(health, "jobs", begun, alive=False)
    health.set(["jobs"], SERVING)
    assert not begun


@pytest.mark.parametrize("service", ["", "jobs"])
def test_a_watcher_who_takes_nothing_keeps_no_lock(service: str) -> None:
    health, taken = Health(), threading.Event()
    health.set(["jobs"], SERVING)
    begin = Mock(side_effect=lambda work: threading.Thread(target=work, daemon=True).start())
    request = health_pb2.HealthCheckRequest(service=service)
    context = Mock()

    def send(_: Response) -> None:
        taken.wait(60)

    health.Watch(request, context, send, begin)
    health.set([service], NOT_SERVING)
    assert health.Check(request, context).status == NOT_SERVING
    (leave,), _ = context.add_callback.call_args
    leave()
    taken.set()
