"""How long releases of the same people last, as a proposal foretells it."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from benchmarks.people.months import Shares, months, policy
from tableveil.backend import Database, Session
from tableveil.convert import canonical_json, stored_policy
from tableveil.convert.proposals import composed
from tableveil.errors import TableveilError
from tableveil.pipelines import forecast, proposal_forecast
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.propose import proposal_work
from tableveil.policy import Role, TableReference
from tableveil.requests.proposal import CorrectedColumn, ProposalRequest, check_proposal_request
from tableveil.runtime.manager import JobManager
from tableveil.state.jobs import JobState
from tableveil.state.proposals import PROPOSALS, Proposal
from tableveil.v1 import proposal_service_pb2 as v1
from tests.service.convert.policy_to_proto import policy_to_proto
from tests.service.jobs.contexts import context
from tests.service.jobs.managed import Open, ended

REQUEST = ProposalRequest(
    table=TableReference("", "main", "visits"),
    recurs=True,
    person_column="person",
    leave_out=("region", "illness", "ward"),
    seconds=Decimal(20),
)

Propose = Callable[..., Proposal]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """One future of two months."""
    for name, value in (("FUTURES", 1), ("MONTHS", 2), ("_COARSER", (16,))):
        monkeypatch.setattr(forecast, name, value)
    monkeypatch.setattr(proposal_forecast, "MONTHS", 2)


@pytest.fixture
def unplayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is played where only what it would be made of is looked at."""
    monkeypatch.setattr(proposal_forecast, "forecast", lambda *_: ())


@pytest.fixture
def visits(session: Session) -> Callable[[int], None]:
    """Makes the table of so many months of visitors."""
    known = months(1, 4, Shares(600, 0.9, 0.9, 0.1))

    def made(number: int) -> None:
        session.execute("DROP TABLE IF EXISTS visits")
        for position, rows in enumerate(known[4 - number :]):
            with session.relation("known", rows):
                session.execute("INSERT INTO visits FROM known" if position else "CREATE TABLE visits AS FROM known")

    return made


@pytest.fixture
def propose(open_manager: Open, database: Database) -> Propose:
    jobs = open_manager(policy_of=stored_policy)

    def proposed(**changes: Any) -> Proposal:
        request = replace(REQUEST, **changes)
        assert list(check_proposal_request(request)) == []
        job = ended(jobs, jobs.submit(proposal_work(request, canonical_json(v1.ProposalRequest()), composed)).number)
        assert job.state is JobState.SUCCEEDED, job.failure
        assert job.result is not None
        with database.ledger() as ledger:
            found = PROPOSALS.find(ledger, job.result)
        assert found is not None
        return found

    return proposed


def test_a_column_of_months_foretells_and_the_policies_are_for_the_newest(
    visits: Callable[[int], None], propose: Propose, session: Session, database: Database
) -> None:
    visits(4)
    found = propose(period_column="MONTH")
    assert found.records == session.value("SELECT count(*) FROM visits WHERE month = 3")
    of_newest = stored_policy(found.alternatives[0].policy)
    assert "month" not in {one.column for one in of_newest.quasi_identifiers}
    assert (
        of_newest.source_query
        == 'SELECT * FROM "main"."visits" WHERE "month" = (SELECT max("month") FROM "main"."visits")'
    )
    assert found.forecast.startswith("From 4 months of 'month': about 1")
    names = [way.way for way in found.ways]
    assert names[:3] == ["every month", "every third month", "every month, REPORT"]
    assert all(1 <= way.fewest_releases <= way.most_releases <= 3 for way in found.ways)
    assert all({one.column for one in way.columns} == {"born", "sex"} for way in found.ways)
    # The way's own policy has its levels from the first release on, and is ready to submit.
    for way in (way for way in found.ways if way.policy):
        assert any(one.minimum_level for one in stored_policy(way.policy).quasi_identifiers)
    # Nothing is left of what was played.
    assert not list(database.spill_directory.iterdir())
    assert session.value("SELECT count(*) FROM tableveil.releases") == 0


def test_two_months_cannot_tell(visits: Callable[[int], None], propose: Propose) -> None:
    visits(2)
    found = propose(period_column="month")
    assert found.forecast.startswith("Nobody can tell how many releases last: 'month' has 2 months. Name a column")
    assert found.ways == ()


@pytest.mark.usefixtures("unplayed")
def test_stated_shares_take_the_place_of_months(visits: Callable[[int], None], propose: Propose) -> None:
    visits(1)
    found = propose()
    assert found.forecast.startswith("Nobody can tell how many releases last: 0 earlier releases of its people")
    found = propose(coming_share=Decimal("0.1"), leaving_share=Decimal("0.2"))
    told = "From the shares that were stated: about 10.0% of a month's people are new, and 20.0% are not in the next."
    assert found.forecast.startswith(f"{told} The values of people are taken to stay")


def test_a_column_that_gives_away_too_much_at_coarser_levels_ends_no_forecast(
    visits: Callable[[int], None], propose: Propose, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecast, "_COARSER", (8,))
    visits(1)
    # At the levels of k it says no more than the labels of `born` do, at those of 16 times the k it does.
    session.execute("ALTER TABLE visits ADD COLUMN cohort VARCHAR")
    session.execute("UPDATE visits SET cohort = 'of ' || (born - born % 10)")
    found = propose(
        coming_share=Decimal("0.1"),
        leaving_share=Decimal("0.2"),
        leave_out=(*REQUEST.leave_out, "sex"),
        correct=(CorrectedColumn("cohort", Role.INSENSITIVE),),
    )
    assert any(way.policy for way in found.ways)


@pytest.mark.long
def test_a_table_where_nobody_leaves_lasts(visits: Callable[[int], None], propose: Propose) -> None:
    visits(1)
    found = propose(coming_share=Decimal(0), leaving_share=Decimal(0))
    every = found.ways[0]
    assert (every.fewest_releases, every.refused) == (3, False)
    assert "Lasts longest: every month, at least 3 releases." in found.forecast


@pytest.mark.usefixtures("unplayed")
def test_earlier_releases_tell_who_comes_and_leaves(
    visits: Callable[[int], None], propose: Propose, session: Session, database: Database
) -> None:
    for position, rows in enumerate(months(1, 3, Shares(600, 0.9, 0.9, 0.1))):
        with session.relation("known", rows):
            session.execute("CREATE OR REPLACE TABLE visits AS FROM known")
        one = policy()
        target = replace(one.release, name=f"month_{position}", left_behind=None)
        with database.session() as own:
            job = context(own, database, number=100 + position, document=canonical_json(policy_to_proto(one)))
            anonymize(job, replace(one, release=target, repeat_reason="readers know none of the others"))
    found = propose()
    assert found.forecast.startswith("From 3 earlier releases: about 9.7% of a month's people are new")
    assert session.value("SELECT count(*) FROM tableveil.joint_texts") > 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"recurs": False, "period_column": "month"}, "period_column"),
        ({"recurs": False, "coming_share": Decimal(0), "leaving_share": Decimal(0)}, "coming_share"),
        ({"coming_share": Decimal(0)}, "leaving_share"),
        ({"coming_share": Decimal(2), "leaving_share": Decimal(0)}, "coming_share"),
        ({"coming_share": Decimal(0), "leaving_share": Decimal("-0.1")}, "leaving_share"),
        ({"period_column": "m", "coming_share": Decimal(0), "leaving_share": Decimal(0)}, "coming_share"),
        ({"period_column": "person"}, "period_column"),
    ],
)
def test_faults(changes: dict[str, Any], field: str) -> None:
    assert field in {fault.field for fault in check_proposal_request(replace(REQUEST, **changes))}


def test_a_column_that_is_not_there(visits: Callable[[int], None], open_manager: Open) -> None:
    visits(1)
    jobs: JobManager = open_manager(policy_of=stored_policy)
    request = replace(REQUEST, period_column="mnth")
    with pytest.raises(TableveilError, match="period_column"):
        jobs.submit(proposal_work(request, canonical_json(v1.ProposalRequest()), composed))
