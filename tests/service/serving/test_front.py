"""A crowd of strangers that comes at once: the front passes on those alone who need not give way."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress

import pytest

from tableveil.serving import front
from tableveil.serving.front import Front, Passages

SECONDS = 60.0
CROWD, STRANGERS = 30, 4


class Inner:
    """A server that sends back what it gets, one piece of each connection, and counts connections."""

    def __init__(self) -> None:
        self.connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with ExitStack() as opened, suppress(OSError):
            while True:
                connection = opened.enter_context(self._listening.accept()[0])
                self.connections += 1
                connection.sendall(connection.recv(100))

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(SECONDS)


@pytest.fixture
def inner() -> Iterator[Inner]:
    with closing(Inner()) as inner:
        yield inner


def test_of_a_crowd_the_newest_are_passed_on(inner: Inner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "STRANGERS", STRANGERS)
    monkeypatch.setattr(front, "_WAITING", 1)
    with closing(Front("127.0.0.1", 0, inner.port, Passages())) as before, ExitStack() as opened:
        busy, go = threading.Event(), threading.Event()

        def hold() -> None:
            busy.set()
            go.wait(SECONDS)

        before._loop.call_soon_threadsafe(hold)
        assert busy.wait(SECONDS)
        crowd = []
        for _ in range(CROWD):
            crowd.append(opened.enter_context(socket.create_connection(("127.0.0.1", before.port), SECONDS)))
            crowd[-1].sendall(b"asked")
        go.set()
        assert [one.recv(100) for one in crowd[-STRANGERS:]] == [b"asked"] * STRANGERS
        for lost in crowd[:-STRANGERS]:
            with suppress(ConnectionError):
                assert lost.recv(100) == b""
        assert inner.connections == STRANGERS
