"""Servers as processes, none of which outlives its tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.process import Serve, ServerProcess


@contextmanager
def _serving() -> Iterator[Serve]:
    started: list[ServerProcess] = []

    def serve(database: Path, *options: str) -> ServerProcess:
        server = ServerProcess(database, *options)
        started.append(server)
        return server

    try:
        yield serve
    finally:
        for server in started:
            if server.process.running:
                server.kill()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(database, *options)` starts a server."""
    with _serving() as serve:
        yield serve


@pytest.fixture(scope="module")
def serve_all_along() -> Iterator[Serve]:
    """Starts servers that the tests of a module share."""
    with _serving() as serve:
        yield serve
