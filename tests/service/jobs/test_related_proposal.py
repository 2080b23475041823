"""Proposals for people and their events: both policies hold, and what cannot be released is left out and told."""

from collections.abc import Callable
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.convert import stored_policy
from tableveil.convert.drafts import policy_draft_to_proto
from tableveil.convert.proposals import SUBMISSION
from tableveil.convert.related_drafts import related_draft_to_proto
from tableveil.errors import InvalidError, NotFoundError
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.draft import Drafts
from tableveil.policy import KAnonymity, KnownFacts, Orphans, Policy, Role, TableReference
from tableveil.runtime import JobManager
from tableveil.state.jobs import JobState
from tableveil.state.proposals import PROPOSALS, Proposal
from tableveil.v1 import policy_pb2
from tableveil.v1 import proposal_service_pb2 as v1
from tests.service.jobs.managed import Open, ended

TABLES = """
CREATE MACRO any_of(list, text) AS list[1 + (hash(text) % len(list))::INTEGER];
CREATE TABLE patients AS SELECT i AS pid, 1940 + (hash('born ' || i) % 60)::INTEGER AS born,
  any_of(['f', 'm'], 'sex ' || i) AS sex FROM range(300) r(i);
CREATE TABLE visits AS SELECT p * 10 + j AS stay_id, p AS pid, DATE '2023-01-01' + (hash(p || ' ' || j) % 730)::INTEGER
  AS began, began + 3 AS billed, any_of(['eye', 'surgery', 'medicine'], p || ' ward ' || j) AS ward,
  (hash(p || ' cost ' || j) % 100000)::INTEGER / 100 AS lab_result FROM range(310) r(p), range(3) s(j) WHERE j <= p % 3;
CREATE TABLE nobody AS SELECT * FROM visits LIMIT 0;
CREATE TABLE unrelated AS SELECT i AS number FROM range(9) r(i);
"""


@pytest.fixture
def jobs(open_manager: Open, session: Session) -> JobManager:
    for statement in filter(str.strip, TABLES.split(";")):
        session.execute(statement)
    return open_manager(policy_of=stored_policy)


def drafted(
    database: Database, *events: str, key: str = "", event_keys: tuple[str, ...] = (), people: str = "patients"
) -> policy_pb2.Policy:
    names = (people, *events)
    tables = {name: TableReference("", *(["main", name] if "." not in name else name.split("."))) for name in names}
    found = [(draft, policy_draft_to_proto(draft)) for draft in Drafts(database).related(tables, Control())]
    return related_draft_to_proto(found, key, event_keys).proposal


Propose = Callable[..., Proposal]


@pytest.fixture
def propose(jobs: JobManager, database: Database) -> Propose:
    def proposed(policy: policy_pb2.Policy, **changes: Any) -> Proposal:
        asked = v1.ProposalRequest(policy=policy, **changes)
        read = SUBMISSION.read(v1.SubmitProposalRequest(proposal=asked))
        assert read.work is not None, read.faults
        job = ended(jobs, jobs.submit(read.work).number)
        assert job.state is JobState.SUCCEEDED, job.failure
        with database.ledger() as ledger:
            found = PROPOSALS.find(ledger, job.result or 0)
        assert found is not None
        return found

    return proposed


def known_facts(policy: Policy) -> list[int]:
    return [model.m for model in policy.privacy_models if isinstance(model, KnownFacts)]


def test_both_policies_make_releases_without_what_is_refused(
    propose: Propose, jobs: JobManager, database: Database
) -> None:
    base = drafted(database, "visits")
    found = propose(base, readers=v1.READERS_PUBLIC)
    assert (found.source.table, found.records) == ("patients", 300)
    two, one = found.alternatives
    assert [known_facts(stored_policy(each.policy)) for each in (two, one)] == [[2], [1]]
    assert two.score is not None
    assert one.score is not None
    assert one.score <= two.score, "what holds against two facts holds against one"
    assert (two.recommended, one.recommended) == (not two.decisions, False)
    for each in (two, one):
        policy = stored_policy(each.policy)
        assert KAnonymity(12) in policy.privacy_models, "the public's k is above the draft's"
        assert policy.related is not None
        (visits,) = policy.related.events
        assert visits.orphans is Orphans.DROP, "people 300 to 309 are nobody's"
        roles = {attribute.column: attribute.role for attribute in visits.attributes}
        assert roles["billed"] is Role.IDENTIFYING, "a second date tells the first one"
        assert any(note.startswith("Rows of 'visits' per person: ") for note in each.notes)
        for told in ("are left out: ", "rows of events are not released"):
            assert any(told in note for note in each.notes), (told, each.notes)
        assert not {*each.notes} & {*each.decisions}
        assert not [
            note for note in each.notes if note.startswith(("Other levels", "The odds")) or "nothing of it" in note
        ]
    assert found.notes[0].startswith("At most 50% of the rows of events may be removed, and 5% of the people")
    for note in found.notes[1:]:
        column = note.removeprefix("Not released: '").partition("'")[0]
        of, _, name = column.partition(".")
        assert {a.column: a.role for a in visits.attributes}[name] is Role.IDENTIFYING, of
    job = ended(jobs, jobs.submit(release_work(stored_policy(one.policy), one.policy)).number)
    assert job.state is JobState.SUCCEEDED, job.failure


def test_nothing_is_recommended_before_the_readers_are_named(propose: Propose, database: Database) -> None:
    found = propose(drafted(database, "visits"))
    assert found.decisions[0].startswith("Nobody has said who gets the release")
    assert not any(each.recommended for each in found.alternatives)


def test_a_policy_without_a_release_says_why(propose: Propose, database: Database) -> None:
    base = drafted(database, "visits")
    base.privacy_models[0].k_anonymity.k = 1000
    found = propose(base, readers=v1.READERS_INSIDE)
    assert found.recommendation == "None is recommended: neither policy makes a release."
    assert all(each.score is None and each.failure for each in found.alternatives)
    late = propose(drafted(database, "visits"), time_limit_seconds="0.001")
    assert {each.failure.partition(":")[0] for each in late.alternatives} == {
        "The time limit was over before its release was whole"
    }


@pytest.mark.parametrize(
    ("asked", "field", "found"),
    [
        ({"events": ("unrelated",)}, "key", "no identifying column that all tables have"),
        ({"events": ("unrelated",), "key": "pid"}, "key", "'pid'"),
        ({"events": ("visits",), "key": "patient"}, "key", "'patient'"),
        ({"events": ("patients",), "people": "visits", "key": "pid"}, "key", "'pid' of 'visits': it has "),
        ({"events": ("nobody",), "key": "pid"}, "events[0]", "'nobody', which has no rows"),
        ({"events": ("visits",), "event_keys": ("visit.pid",)}, "event_keys[0]", "'visit.pid', of no event table"),
        ({"events": ("visits",), "event_keys": ("visits.pid",) * 2}, "event_keys[1]", "'visits.pid', a further one"),
        ({"events": ("visits",), "event_keys": ("visits.whose",)}, "event_keys[0]", "'whose'"),
    ],
)
def test_a_key_numbers_the_people_and_is_in_all_tables(
    jobs: JobManager, database: Database, asked: dict[str, Any], field: str, found: str
) -> None:
    with pytest.raises(InvalidError) as refused:
        drafted(database, *asked.pop("events"), **asked)
    fault = refused.value.faults[0]
    assert fault.field == field
    assert fault.found.startswith(found)


@pytest.mark.parametrize("key", ["", "pid"])
def test_events_may_have_another_name_for_the_key(
    propose: Propose, session: Session, database: Database, key: str
) -> None:
    session.execute('ALTER TABLE visits RENAME pid TO "who.ever"')
    session.execute('CREATE TABLE calls AS SELECT "who.ever" AS pid, began FROM visits')
    both = drafted(database, "visits", "calls", key=key, event_keys=("visits.who.ever",))
    assert [(one.table, one.person) for one in both.tables.events] == [("visits", "who.ever"), ("calls", "")]
    found = propose(drafted(database, "visits", key=key, event_keys=("visits.who.ever",)), readers=v1.READERS_INSIDE)
    for each in found.alternatives:
        assert each.score is not None, each.failure
        related = stored_policy(each.policy).related
        assert related is not None
        assert [event.person for event in related.events] == ["who.ever"]


def test_events_have_names_of_their_own(propose: Propose, session: Session, database: Database) -> None:
    session.execute("CREATE SCHEMA other")
    session.execute("CREATE TABLE other.visits AS SELECT pid AS who, began FROM visits")
    session.execute("CREATE TABLE classes AS SELECT pid, ward FROM visits")
    base = drafted(database, "visits", "other.visits", "classes", event_keys=("other.visits.who",))
    assert [(one.name, one.schema, one.table, one.person) for one in base.tables.events] == [
        ("main_visits", "main", "visits", ""),
        ("", "other", "visits", "who"),
        ("main_classes", "main", "classes", ""),
    ]
    with pytest.raises(InvalidError, match=r"'visits\.who', a further one"):
        drafted(database, "visits", "other.visits", event_keys=("visits.who",))
    assert any(each.score is not None for each in propose(base).alternatives)


def test_a_request_says_of_one_table_what_the_policy_says_of_all(jobs: JobManager, database: Database) -> None:
    base = drafted(database, "visits")
    asked = v1.ProposalRequest(
        policy=base,
        table=policy_pb2.TableReference(table="patients"),
        recurs=True,
        keep=[v1.KeptColumn(column="sex")],
        acknowledge=["sex"],
        leave_out=["born"],
    )
    fields = {fault.field for fault in SUBMISSION.read(v1.SubmitProposalRequest(proposal=asked)).faults}
    assert {"table", "recurs", "keep", "acknowledge", "leave_out"} <= fields


def test_a_policy_that_cannot_be_read_is_all_that_is_told(jobs: JobManager, database: Database) -> None:
    base = drafted(database, "visits")
    base.tables.rows_limit = "much"
    asked = v1.SubmitProposalRequest(proposal=v1.ProposalRequest(policy=base))
    assert [fault.field for fault in SUBMISSION.read(asked).faults] == ["policy.tables.rows_limit"]


def test_a_missing_event_table_is_refused_at_once(jobs: JobManager, database: Database) -> None:
    base = drafted(database, "visits")
    base.tables.events[0].table = "visit"
    for attribute in base.attributes:
        attribute.table = "visit" if attribute.table else ""
    read = SUBMISSION.read(v1.SubmitProposalRequest(proposal=v1.ProposalRequest(policy=base)))
    assert read.work is not None, read.faults
    with pytest.raises(NotFoundError) as refused:
        jobs.submit(read.work)
    assert refused.value.faults[0].field.startswith("policy.tables.events[0]")
