"""Endpoints on a real port, with doubles of what is behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from unittest.mock import Mock, create_autospec

import grpc
import pytest

from tableveil.jobs import (
    Classifications,
    Drafts,
    Frontiers,
    Hierarchies,
    JobManager,
    Loads,
    PayoutSweeps,
    Releases,
    RiskAnalyses,
    Tables,
    Upkeep,
    UtilityReports,
)
from tableveil.server.endpoint import Endpoint
from tableveil.server.ports import Stores

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
def payout_sweeps() -> Mock:
    double: Mock = create_autospec(PayoutSweeps, instance=True)
    return double


@pytest.fixture
def risk_analyses() -> Mock:
    double: Mock = create_autospec(RiskAnalyses, instance=True)
    return double


@pytest.fixture
def classifications() -> Mock:
    double: Mock = create_autospec(Classifications, instance=True)
    return double


@pytest.fixture
def utility_reports() -> Mock:
    double: Mock = create_autospec(UtilityReports, instance=True)
    return double


@pytest.fixture
def upkeep() -> Mock:
    double: Mock = create_autospec(Upkeep, instance=True)
    return double


@pytest.fixture
def tables() -> Mock:
    double: Mock = create_autospec(Tables, instance=True)
    return double


@pytest.fixture
def loads() -> Mock:
    double: Mock = create_autospec(Loads, instance=True)
    return double


@pytest.fixture
def drafts() -> Mock:
    double: Mock = create_autospec(Drafts, instance=True)
    return double


@pytest.fixture
def stores(
    releases: Mock,
    hierarchies: Mock,
    frontiers: Mock,
    payout_sweeps: Mock,
    risk_analyses: Mock,
    classifications: Mock,
    utility_reports: Mock,
    upkeep: Mock,
    drafts: Mock,
    tables: Mock,
    loads: Mock,
) -> Stores:
    return Stores(
        releases,
        hierarchies,
        frontiers,
        payout_sweeps,
        risk_analyses,
        classifications,
        utility_reports=utility_reports,
        upkeep=upkeep,
        drafts=drafts,
        tables=tables,
        loads=loads,
    )


@pytest.fixture
def start(jobs: Mock, stores: Stores) -> Iterator[Start]:
    """Starts an endpoint, and stops it in the end."""
    with ExitStack() as stack:

        def start(stream_limit: int = 8) -> Endpoint:
            endpoint = Endpoint(jobs, stores, "127.0.0.1:0", stream_limit)
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
