"""The store of proposals: they come back as they were stored, without what depends on releases of others."""

from dataclasses import replace
from datetime import datetime

import pytest

from tableveil.backend import Database, Scopes, Session, Visibility, seeing
from tableveil.policy import TableReference
from tableveil.source.doubtful import DoubtfulValues, DoubtKind
from tableveil.state.proposals import LEFT_OUT, PROPOSALS, ColumnLeft, Proposal, TriedPolicy

TRIED = TriedPolicy(
    policy="{}",
    method="full domain",
    k=5,
    score=0.25,
    suppressed_records=3,
    highest_risk=0.2,
    columns=(ColumnLeft("age", 4, 0.5, False, 0.25), ColumnLeft('the "sex"', 1, 1.0, True, 1.0)),
    decisions=("first", "second"),
    recommended=True,
)
PROPOSAL = Proposal(
    number=1,
    job=7,
    created_at=datetime(2026, 1, 2),
    source=TableReference("test", "main", "people"),
    records=100,
    notes=("a note",),
    decisions=(),
    repair_query="SELECT 1",
    recommendation="Take it.",
    seconds=1.5,
    request="{}",
    findings=(DoubtfulValues("age", DoubtKind.SENTINEL, 3, "nullif(age, 999)"),),
    alternatives=(TRIED, TriedPolicy("{}", "local recoding", 5, failure="no")),
)


@pytest.mark.parametrize("releases", [(), (99,)])
def test_it_comes_back(session: Session, releases: tuple[int, ...]) -> None:
    with session.transaction():
        PROPOSALS.insert(session.ledger, [replace(PROPOSAL, releases=releases)])
    assert PROPOSALS.find(session.ledger, 1) == PROPOSAL
    with session.transaction():
        PROPOSALS.delete(session.ledger, 1)
    assert PROPOSALS.find(session.ledger, 1) is None


def test_others_are_told_nothing_of_releases_that_they_may_not_see(session: Session, database: Database) -> None:
    with session.transaction():
        PROPOSALS.insert(session.ledger, [PROPOSAL, replace(PROPOSAL, number=2, job=8, releases=(99,))])
        for job in (7, 8):
            session.execute("INSERT INTO tableveil.job_reads VALUES (?, '', 'main', 'people')", [job])
    own = Scopes(schemas=frozenset({"main"}))
    with seeing(lambda: Visibility("bob", owned=own)), database.ledger() as ledger:
        assert PROPOSALS.find(ledger, 1) == PROPOSAL
        told = replace(PROPOSAL, number=2, job=8, alternatives=(), recommendation=LEFT_OUT)
        assert PROPOSALS.find(ledger, 2) == told
        assert [one.number for one in PROPOSALS.page(ledger, None, 5)] == [2, 1]
    # Approvers of releases are no stewards of the table.
    with seeing(lambda: Visibility("eve", judged=own, reviewed=own)), database.ledger() as ledger:
        assert PROPOSALS.find(ledger, 1) is None
