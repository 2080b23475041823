"""The store of frontiers and of the jobs that compute them."""

from datetime import datetime
from decimal import Decimal

import pytest

from tableveil.backend import Ledger
from tableveil.errors import TableveilError
from tableveil.policy import TableReference
from tableveil.requests.frontier import FrontierGrid
from tableveil.state import jobs
from tableveil.state.frontiers import FRONTIERS, Found, Frontier, Point
from tableveil.state.jobs import JobKind, JobState, Outcome, Request

AT = datetime(2024, 2, 29, 12, 30, 15, 123456)
SOURCE = TableReference("test", "main", 'it"s; a table')
GRID = FrontierGrid(
    (2, 2**31 - 1), (Decimal(0), Decimal("0.10"), Decimal("0.00000000000000000000000000000000000000000001"))
)


def frontier(number: int, job: int) -> Frontier:
    return Frontier(
        number=number,
        job=job,
        created_at=AT,
        source=SOURCE,
        source_fingerprint="abc",
        records=2**40,
        quasi_identifiers=("age", 'z"ip'),
        lattice_size="1" + "0" * 30,
        checked=17,
        counter="numpy",
        search_seconds=0.5,
        seconds=1.5,
        policy='{"a": "é"}',
        points=(
            Point(2, GRID.suppression_limits[2], Found(0.1, 3, 4, (1, 0)), True, 0.1),
            Point(2, Decimal("0.10"), Found(0.2, 2**40, 4, (1, 2)), False, 0.05),
            Point(3, Decimal("0.10"), None, False, 0.25),
            Point(3, Decimal(1), None, True, None),
        ),
    )


def test_a_frontier_comes_back_as_it_was(ledger: Ledger) -> None:
    first, second = (frontier(FRONTIERS.next_number(ledger), job) for job in (7, 8))
    with ledger.transaction():
        FRONTIERS.insert(ledger, [first])
        FRONTIERS.insert(ledger, [second])
    assert FRONTIERS.find(ledger, first.number) == first
    assert FRONTIERS.find(ledger, second.number) == second
    assert FRONTIERS.find(ledger, 10_000) is None


def test_a_job_has_one_frontier(ledger: Ledger) -> None:
    FRONTIERS.insert(ledger, [frontier(FRONTIERS.next_number(ledger), 9)])
    with pytest.raises(TableveilError):
        FRONTIERS.insert(ledger, [frontier(FRONTIERS.next_number(ledger), 9)])


def request(ledger: Ledger, kind: JobKind, options: str = "", request_id: str = "") -> Request:
    stored = Request(jobs.next_number(ledger), request_id, "{}", "digest", SOURCE, "", "", AT, kind, options)
    jobs.insert_request(ledger, stored)
    return stored


def test_what_was_asked_comes_back_as_it_was(ledger: Ledger) -> None:
    asked = request(ledger, JobKind.FRONTIER, '{"k":[2]}')
    jobs.insert_outcome(ledger, asked.number, Outcome(JobState.SUCCEEDED, AT, 12))
    (found,) = jobs.find_all(ledger, [asked.number])
    assert found.request == asked
    assert found.outcome == Outcome(JobState.SUCCEEDED, AT, 12)


def test_a_request_id_is_one_for_releases_and_another_for_frontiers(ledger: Ledger) -> None:
    release, computed = (request(ledger, kind, request_id="r-7") for kind in (JobKind.RELEASE, JobKind.FRONTIER))
    assert jobs.find_request(ledger, "r-7", JobKind.RELEASE) == release
    assert jobs.find_request(ledger, "r-7", JobKind.FRONTIER) == computed
