"""Endpoints on a real port, with doubles of what is behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from unittest.mock import Mock, create_autospec

import grpc
import pytest

from tableveil.jobs import Frontiers, Hierarchies, JobManager, Releases
from tableveil.server.endpoint import Endpoint

Start = Callable[..., Endpoint]
Serve = Callable[..., grpc.Channel]


@pytest.fixture
def jobs() -> Mock:
    double: Mock = create_autospec(JobManager, instance=True)
    return double


@pytest.fixture
def releases() -> Mock:
    double: Mock = create_autospec(Releases, instance=True)
    return double


@pytest.fixture
def hierarchies() -> Mock:
    double: Mock = create_autospec(Hierarchies, instance=True)
    return double


@pytest.fixture
def frontiers() -> Mock:
    double: Mock = create_autospec(Frontiers, instance=True)
    return double


@pytest.fixture
def start(jobs: Mock, releases: Mock, hierarchies: Mock, frontiers: Mock) -> Iterator[Start]:
    """Starts an endpoint, and stops it in the end."""
    with ExitStack() as stack:

        def start(stream_limit: int = 8) -> Endpoint:
            endpoint = Endpoint(jobs, releases, hierarchies, frontiers, "127.0.0.1:0", stream_limit)
            endpoint.start()
            stack.callback(endpoint.stop, 0.0)
            return endpoint

        yield start


@pytest.fixture
def serve(start: Start) -> Iterator[Serve]:
    """Starts an endpoint and connects to it."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(grpc.insecure_channel(start(**options).address))


@pytest.fixture
def channel(serve: Serve) -> grpc.Channel:
    return serve()
