"""Endpoints on a real port, with doubles of what is behind them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from unittest.mock import Mock, create_autospec

import grpc
import pytest

from tableveil.access import Access, AccessRole, PrivacyBudgets, SchemaRules
from tableveil.audit import Audit
from tableveil.identity import AuthenticatedBy, Principal
from tableveil.identity.secret import OwnToken
from tableveil.identity.tokens import Tokens
from tableveil.lookups import Hierarchies, Privacies, Releases, Reports, Results, RiskAnalyses, Tables
from tableveil.pipelines.draft import Drafts
from tableveil.pipelines.widen import Widening
from tableveil.runtime import AnsweredRequests, JobManager, Loads, Publishing, Removals, Upkeep, Worksheets
from tableveil.runtime.release_lifecycle import ReleaseLifecycle
from tableveil.server.access_control import AccessControl, RolesByScope
from tableveil.server.call import declared
from tableveil.server.endpoint import ServerEndpoint
from tableveil.server.services import DESCRIPTORS
from tableveil.server.stores import ReaderAnswers, Stores
from tableveil.serving.address import Listening
from tableveil.serving.settings import STREAM_IDLE_SECONDS
from tableveil.state.jobs import JobKind
from tests import authenticated

Start = Callable[..., ServerEndpoint]
Serve = Callable[..., grpc.Channel]


@cache
def spec(of: type) -> Mock:
    found: Mock = create_autospec(of, instance=True)
    return found


def double(of: type) -> Mock:
    """One as if it were new: making it takes longer than most tests."""
    found = spec(of)
    found.reset_mock(return_value=True, side_effect=True)
    return found


@pytest.fixture
def jobs() -> Mock:
    made = double(JobManager)
    made.releases = double(ReleaseLifecycle)
    return made


@pytest.fixture
def releases() -> Mock:
    return double(Releases)


@pytest.fixture
def hierarchies() -> Mock:
    return double(Hierarchies)


@pytest.fixture
def privacies() -> Mock:
    """No table has a declared privacy."""
    privacies = double(Privacies)
    privacies.find.return_value = None
    return privacies


@pytest.fixture
def frontiers() -> Mock:
    return double(Results)


@pytest.fixture
def payout_sweeps() -> Mock:
    return double(Results)


@pytest.fixture
def risk_analyses() -> Mock:
    return double(RiskAnalyses)


@pytest.fixture
def classifications() -> Mock:
    return double(Results)


@pytest.fixture
def utility_reports() -> Mock:
    return double(Results)


@pytest.fixture
def upkeep() -> Mock:
    return double(Upkeep)


@pytest.fixture
def tables() -> Mock:
    return double(Tables)


@pytest.fixture
def loads() -> Mock:
    return double(Loads)


@pytest.fixture
def removals() -> Mock:
    return double(Removals)


@pytest.fixture
def drafts() -> Mock:
    return double(Drafts)


@pytest.fixture
def tokens() -> Mock:
    return double(Tokens)


@pytest.fixture
def audit() -> Mock:
    return double(Audit)


@pytest.fixture
def publishing() -> Mock:
    return double(Publishing)


@pytest.fixture
def stores(
    releases: Mock,
    hierarchies: Mock,
    privacies: Mock,
    frontiers: Mock,
    payout_sweeps: Mock,
    risk_analyses: Mock,
    classifications: Mock,
    utility_reports: Mock,
    upkeep: Mock,
    drafts: Mock,
    tables: Mock,
    loads: Mock,
    removals: Mock,
    tokens: Mock,
    audit: Mock,
    publishing: Mock,
) -> Stores:
    return Stores(
        releases,
        hierarchies,
        privacies,
        {
            JobKind.RISK_ANALYSIS: risk_analyses,
            JobKind.DRY_RUN: double(Results),
            JobKind.PROPOSAL: double(Results),
            JobKind.FRONTIER: frontiers,
            JobKind.PAYOUT_SWEEP: payout_sweeps,
            JobKind.CLASSIFICATION: classifications,
            JobKind.UTILITY_REPORT: utility_reports,
        },
        upkeep=upkeep,
        drafts=drafts,
        widening=double(Widening),
        tokens=tokens,
        access=double(Access),
        rules=double(SchemaRules),
        budgets=double(PrivacyBudgets),
        tables=tables,
        loads=loads,
        removals=removals,
        audit=audit,
        readers=double(ReaderAnswers),
        publishing=publishing,
        reports=double(Reports),
        worksheets=double(Worksheets),
        answered=double(AnsweredRequests),
    )


@pytest.fixture
def access_control() -> Iterator[AccessControl]:
    """It lets in callers with the token of the tests, to do everything."""
    principal = Principal("tester", frozenset(), AuthenticatedBy.TOKEN, frozenset(AccessRole))
    with closing(
        AccessControl(declared(DESCRIPTORS), OwnToken(authenticated.TOKEN, principal), RolesByScope(tuple))
    ) as access_control:
        yield access_control


@pytest.fixture
def start(jobs: Mock, stores: Stores, access_control: AccessControl) -> Iterator[Start]:
    """Starts an endpoint, and stops it in the end."""
    with ExitStack() as stack:

        def start(stream_limit: int = 8, idle_seconds: float = STREAM_IDLE_SECONDS) -> ServerEndpoint:
            endpoint = ServerEndpoint(
                jobs, stores, access_control, Listening(("127.0.0.1:0",)), stream_limit, idle_seconds
            )
            endpoint.start()
            stack.callback(endpoint.stop, 0.0)
            return endpoint

        yield start


@pytest.fixture
def serve(start: Start) -> Iterator[Serve]:
    """Starts an endpoint and connects to it."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(authenticated.channel(start(**options).addresses[0]))


@pytest.fixture
def channel(serve: Serve) -> grpc.Channel:
    return serve()
