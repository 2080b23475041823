"""Proposals: they recommend a policy that makes the release that they tell of, and ask what rows cannot tell."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tableveil.backend import Database, Session
from tableveil.convert import canonical_json, stored_policy
from tableveil.convert.proposals import SUBMISSION, composed, proposal_to_proto
from tableveil.errors import InvalidError, NotFoundError, TableveilError, must_decide, note
from tableveil.hierarchy import InlineLevels
from tableveil.local_recoding import solve
from tableveil.pipelines import alternatives
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.propose import proposal_work
from tableveil.pipelines.work import FoundPartition
from tableveil.policy import (
    DistinctLDiversity,
    Dominance,
    Elements,
    KAnonymity,
    LeftBehind,
    ProbabilisticLDiversity,
    Role,
    TableReference,
    TCloseness,
)
from tableveil.requests.proposal import KeptColumn, ProposalRequest, ReleaseReaders, check_proposal_request
from tableveil.runtime import JobManager
from tableveil.state.jobs import JobPhase, JobState
from tableveil.state.proposals import PROPOSALS, Proposal
from tableveil.state.releases import RELEASES
from tableveil.state.table_privacy import declare
from tableveil.v1 import policy_pb2, privacy_service_pb2
from tableveil.v1 import proposal_service_pb2 as v1
from tests.once import once
from tests.service.jobs.managed import Open, ended

VISITS = """CREATE OR REPLACE TABLE visits AS SELECT (hash(i, 7) % 110)::INT AS patient_nr, i AS visit_nr,
    DATE '1940-01-01' + (hash(patient_nr, 4) % 25000)::INT AS birth_date,
    ['f', 'm'][1 + (hash(patient_nr, 5) % 2)::INT] AS sex, lpad((hash(patient_nr, 6) % 80)::VARCHAR, 5, '0') AS zip,
    DATE '2024-01-01' + (hash(i, 1) % 366)::INT AS admission, (hash(i, 2) % 20)::INT AS days,
    ['flu', 'cancer', 'asthma', 'fracture'][1 + (hash('diagnosis ' || i) % 4)::INT] AS diagnosis FROM range(400) r(i)"""

# Each column that is tried costs time, for each of the alternatives.
REQUEST = ProposalRequest(TableReference("", "main", "visits"), leave_out=("birth_date", "zip"))

FEW = (*REQUEST.leave_out, "days", "admission")
"""Leaves out what a test does not look at: each column that is tried costs time as well."""

UNTRIED = Decimal("0.001")
"""Too few seconds to try a policy: for tests of the policies, decisions and findings alone."""

TRIED = once([UNTRIED, REQUEST.seconds])
"""A proposal says most things without the releases that it tries."""
Propose = Callable[..., Proposal]


@pytest.fixture
def jobs(open_manager: Open) -> JobManager:
    return open_manager(policy_of=stored_policy)


@pytest.fixture
def propose(jobs: JobManager, database: Database, session: Session) -> Propose:
    """Makes a proposal for the visits, with changes of the request."""
    session.execute(VISITS)

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


def test_the_first_policy_makes_the_release_that_was_foretold(
    propose: Propose, jobs: JobManager, database: Database, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def objects() -> list[tuple[Any, ...]]:
        return session.rows("SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT temporary ORDER BY ALL")

    before, few = objects(), (*REQUEST.leave_out, "admission")
    with monkeypatch.context() as patched:
        # Bounds take most of the time of local recoding, and no proposal shows one.
        patched.setattr(solve, "lower_bound", None)
        patched.setattr(solve, "plain_bound", None)
        found = propose(leave_out=few)
    assert objects() == before
    _check_what_is_left(found)
    assert (found.records, found.decisions, found.findings, found.repair_query) == (400, (), (), "")
    reasons = [note for note in found.notes if "seems to identify" in note]
    assert [note.split()[0] for note in reasons] == ["'visit_nr'"], "the steward left out the others"
    best, *others = found.alternatives
    (decision,) = best.decisions
    assert "with several records can tell a value of 'diagnosis'" in decision, "its report calls it above the threshold"
    assert not any(one.recommended for one in (best, *others))
    assert found.recommendation == "None is recommended: all of them leave something to be decided."
    released = [one for one in found.alternatives if one.score is not None]
    assert {(one.method, one.k) for one in found.alternatives} == {
        (method, k) for method in ("local recoding", "full domain") for k in (5, 10)
    }
    assert best.score == min(one.score or 0 for one in released)
    local = {one.k: one.score or 1 for one in released if one.method == "local recoding"}
    assert local[5] <= local[10] + 1e-9, "classes of 10 are classes of 5"
    policy = stored_policy(best.policy)
    assert policy.person_column == "patient_nr"
    assert {KAnonymity(best.k), Dominance(1 / Decimal(best.k))} <= set(policy.privacy_models)
    roles = {attribute.column: attribute.role for attribute in policy.attributes}
    assert (roles["visit_nr"], roles["diagnosis"]) == (Role.IDENTIFYING, Role.SENSITIVE)
    job = ended(jobs, jobs.submit(release_work(policy, best.policy)).number)
    assert job.state is JobState.SUCCEEDED, job.failure
    with database.ledger() as ledger:
        release = RELEASES.find(ledger, job.result or 0)
    assert release is not None
    assert max(release.risk_after.highest, release.risk_by_size.highest) <= 0.2
    assert release.score <= (best.score or 0) + 1e-9
    assert [column.column for column in best.columns] == [each.column for each in release.attributes]


@pytest.mark.long
def test_a_second_release_that_would_be_refused_must_be_decided(
    propose: Propose, jobs: JobManager, session: Session
) -> None:
    best = propose(leave_out=FEW).alternatives[0]
    job = ended(jobs, jobs.submit(release_work(stored_policy(best.policy), best.policy)).number)
    assert job.state is JobState.SUCCEEDED, job.failure
    again = propose(leave_out=FEW)
    assert not any(one.recommended for one in again.alternatives)
    assert any("would be refused" in text for one in again.alternatives for text in one.decisions)
    # Readers who may not see that release are told nothing of it.
    assert session.rows("SELECT releases FROM tableveil.joint_texts WHERE job = ?", [again.job]) == [([1],)]


def test_a_warning_that_must_be_decided_is_open_in_the_proposal_too(
    propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the account and the report of the release that it proposes."""
    rehearsed = alternatives.rehearsed_within

    def warned(*given: Any) -> Any:
        release, refusals = rehearsed(*given)
        return replace(release, warnings=(must_decide("Somebody is found."), note("A look is enough."))), refusals

    monkeypatch.setattr(alternatives, "rehearsed_within", warned)
    found = propose(leave_out=FEW)
    released = [one for one in found.alternatives if one.score is not None]
    assert released
    assert all("Somebody is found." in one.decisions and not one.recommended for one in released)
    assert "A look is enough." not in repr(found)


def test_a_found_partition_is_one_of_the_same_combinations() -> None:
    codes = np.array([[0, 1], [2, 0], [1, 1]])
    found = FoundPartition(codes, np.array([7, 8, -1]))
    order = [2, 0, 1]
    classes = found.of(codes[order])
    assert classes is not None
    assert classes.tolist() == [-1, 7, 8]
    assert found.of(codes[:2]) is None
    assert found.of(np.array([[0, 1], [2, 0], [1, 2]])) is None


def _check_what_is_left(found: Proposal) -> None:
    for one in found.alternatives:
        for column in one.columns:
            assert column.erased == (column.labels == 1)
            assert 0 <= column.hidden <= 1
    message = proposal_to_proto(found)
    assert [one.policy for one in message.alternatives]
    assert len(message.alternatives[0].columns) == len(found.alternatives[0].columns)


@pytest.mark.parametrize("seconds", TRIED)
def test_readers_say_which_k_and_risk(propose: Propose, seconds: Decimal) -> None:
    found = propose(readers=ReleaseReaders.PUBLIC, leave_out=FEW, seconds=seconds)
    assert {one.k for one in found.alternatives} == {12, 20}
    assert all((one.highest_risk or 0) <= 0.09 for one in found.alternatives if not one.decisions)


@pytest.mark.parametrize("seconds", TRIED)
def test_columns_that_stay_or_go(propose: Propose, seconds: Decimal) -> None:
    found = propose(
        seconds=seconds,
        keep=(KeptColumn("sex"), KeptColumn("ADMISSION", 1)),
        leave_out=("days", "diagnosis", "birth_date", "zip"),
    )
    for one in found.alternatives:
        attributes = {attribute.column: attribute for attribute in stored_policy(one.policy).attributes}
        assert attributes["admission"].maximum_level == 1
        assert {attributes["days"].role, attributes["diagnosis"].role} == {Role.IDENTIFYING}
        left = {column.column: column for column in one.columns}
        assert not one.recommended or not (left["sex"].erased or left["admission"].erased)
        if one.columns and left["sex"].erased:
            assert "'sex' was to be kept, and has the same label in all rows." in one.decisions
    refused = propose(keep=(KeptColumn("visit_nr"),), seconds=UNTRIED)
    assert "'visit_nr' was to be kept, and identifies people: it is not released." in refused.decisions
    assert not any(one.recommended for one in refused.alternatives)


def test_releases_that_recur_are_judged_together(propose: Propose) -> None:
    found = propose(recurs=True, leave_out=FEW, seconds=UNTRIED)
    policies = [stored_policy(one.policy) for one in found.alternatives if one.method == "full domain"]
    wanted = {(policy.record_column, policy.release.left_behind) for policy in policies}
    assert wanted == {("visit_nr", LeftBehind.REQUIRE)}


@pytest.mark.long
def test_releases_that_recur_are_set_up_for_it(propose: Propose, jobs: JobManager, session: Session) -> None:
    found = propose(recurs=True, leave_out=FEW)
    best = found.alternatives[0]
    assert best.method == "full domain"
    policy = stored_policy(best.policy)
    assert (policy.record_column, policy.release.left_behind) == ("visit_nr", LeftBehind.REQUIRE)
    assert {one.failure != "" for one in found.alternatives if one.method == "local recoding"} == {True}
    first = ended(jobs, jobs.submit(release_work(policy, best.policy)).number)
    assert first.state is JobState.SUCCEEDED, first.failure
    session.execute("UPDATE visits SET diagnosis = 'flu' WHERE visit_nr = 7")
    later = replace(policy, release=replace(policy.release, name="later"))
    second = ended(jobs, jobs.submit(release_work(later, best.policy)).number)
    assert second.state is JobState.SUCCEEDED, second.failure


@pytest.mark.parametrize("seconds", TRIED)
def test_who_is_a_person_is_asked_if_nothing_tells(propose: Propose, session: Session, seconds: Decimal) -> None:
    session.execute("CREATE TABLE answers AS SELECT birth_date, sex, zip, days AS answer FROM visits")
    place = TableReference("", "main", "answers")
    found = propose(table=place, seconds=seconds)
    (decision,) = found.decisions
    assert "--rows-are-people" in decision
    assert not any(one.recommended for one in found.alternatives)
    said = propose(table=place, rows_are_people=True, seconds=seconds)
    assert said.decisions == ()
    assert any(one.score is not None for one in said.alternatives) or seconds == UNTRIED


@pytest.mark.parametrize("row", ["i AS rownames, ", "uuid() AS X, ", ""])
def test_an_id_that_recurs_is_the_person_though_nothing_else_tells(
    propose: Propose, session: Session, row: str
) -> None:
    """The rows have a sex and an age at the first visit alone, so that none agree."""
    first = "CASE WHEN i % 5 = 0 THEN {} END".format
    session.execute(
        f"CREATE TABLE followup AS SELECT {row} i // 5 + 1 AS ID, i % 5 * 6 AS TIME, {first('hash(i) % 2')} AS sex, "
        f"{first('20 + hash(i) % 40')} AS age, hash(i, 1) % 30 AS drinks FROM range(700) r(i)"
    )
    found = propose(table=TableReference("", "main", "followup"), leave_out=(), seconds=UNTRIED)
    assert not {"person_column", "rows_are_people"} & {*json.loads(found.alternatives[0].policy)}, "nobody has said it"
    assert found.notes[0] == "'ID' has 140 different values in 700 rows: each of its values counts as a person."
    assert len(found.decisions) == 1


def test_the_answer_to_a_refusal_of_rows_that_are_called_people(propose: Propose, session: Session) -> None:
    drawn = "md5_number_lower((i % 110)::VARCHAR || '{}') % {}".format
    session.execute(
        f"CREATE TABLE seen AS SELECT i % 110 AS code, {drawn('a', 90)} AS age, {drawn('b', 2)} AS sex, "
        f"{drawn('c', 9)} AS county FROM range(400) r(i)"
    )
    asked: dict[str, Any] = {"table": TableReference("", "main", "seen"), "rows_are_people": True, "leave_out": ()}
    refused = propose(**asked)
    assert all("--acknowledge 'code'" in one.failure for one in refused.alternatives)
    answered = propose(**asked, acknowledge=("code",))
    assert any(one.score is not None for one in answered.alternatives)


@pytest.mark.long
def test_a_column_that_gives_labels_away_is_generalized(propose: Propose, session: Session) -> None:
    session.execute("CREATE TABLE marked AS SELECT *, 'w' || zip AS batch_version FROM visits")
    found = propose(table=TableReference("", "main", "marked"), leave_out=FEW)
    roles = {each.column: each.role for each in stored_policy(found.alternatives[0].policy).attributes}
    assert roles["batch_version"] in (Role.QUASI_IDENTIFIER, Role.IDENTIFYING)


@pytest.mark.parametrize("seconds", TRIED)
def test_a_value_that_nearly_all_have_is_no_reason_to_erase_everything(
    propose: Propose, session: Session, seconds: Decimal
) -> None:
    session.execute("UPDATE visits SET diagnosis = CASE WHEN visit_nr % 25 = 0 THEN 'cancer' ELSE 'flu' END")
    found = propose(leave_out=FEW, seconds=seconds)
    best = found.alternatives[0]
    assert TCloseness("diagnosis", Decimal("0.5")) in stored_policy(best.policy).privacy_models
    if seconds != UNTRIED:
        assert not all(column.erased for column in best.columns)
    session.execute("UPDATE visits SET diagnosis = CASE WHEN visit_nr % 3 = 0 THEN 'cancer' ELSE 'flu' END")
    models = stored_policy(propose(seconds=UNTRIED).alternatives[0].policy).privacy_models
    assert DistinctLDiversity("diagnosis", 2) in models


@pytest.mark.parametrize("seconds", TRIED)
def test_all_have_the_same_limits_so_that_scores_can_be_compared(
    propose: Propose, session: Session, seconds: Decimal
) -> None:
    session.execute("CREATE TABLE few AS FROM visits WHERE visit_nr < 24")
    place, left_out = TableReference("", "main", "few"), ("patient_nr", "days", "admission")
    found = propose(table=place, person_column="visit_nr", leave_out=left_out, seconds=seconds)
    policies = [stored_policy(one.policy) for one in found.alternatives]
    limits = {any(a.maximum_level is not None for a in policy.attributes) for policy in policies}
    assert len(limits) == 1
    assert any("No maximum_level is set" in note for note in found.notes) == (limits == {False})


def test_columns_in_which_nearly_every_row_differs_are_left_out_unless_kept(propose: Propose, session: Session) -> None:
    session.execute("CREATE TABLE charged AS SELECT *, (hash(visit_nr) % 10000019) / 100 AS charges FROM visits")
    place = TableReference("", "main", "charged")

    def role(found: Proposal) -> Role | None:
        (own,) = (each for each in stored_policy(found.alternatives[0].policy).attributes if each.column == "charges")
        return own.role

    left_out = propose(table=place, seconds=UNTRIED)
    assert role(left_out) is Role.IDENTIFYING
    assert any("'charges'" in note for note in left_out.notes)
    assert role(propose(table=place, keep=(KeptColumn("charges"),), seconds=UNTRIED)) is Role.SENSITIVE


def test_values_that_look_wrong_are_repaired_by_the_query(propose: Propose, session: Session) -> None:
    session.execute("UPDATE visits SET days = 999 WHERE visit_nr % 40 = 0")
    found = propose(seconds=UNTRIED)
    assert [(one.column, one.records) for one in found.findings] == [("days", 10)]
    again = propose(table=None, source_query=found.repair_query, seconds=UNTRIED)
    assert (again.findings, again.source.table) == ((), "")
    assert stored_policy(again.alternatives[0].policy).source_query == found.repair_query


def test_what_is_declared_of_a_table_is_taken(propose: Propose, database: Database) -> None:
    attributes = [policy_pb2.Attribute(column="diagnosis", role=policy_pb2.ROLE_IDENTIFYING)]
    declared = canonical_json(privacy_service_pb2.Privacy(attributes=attributes, person_column="patient_nr"))
    with database.ledger() as ledger, ledger.transaction():
        declare(ledger, TableReference("", "main", "visits"), declared, "steward", datetime(2026, 1, 1))
    found = propose(seconds=UNTRIED)
    (diagnosis,) = (a for a in stored_policy(found.alternatives[0].policy).attributes if a.column == "diagnosis")
    assert diagnosis.role is Role.IDENTIFYING
    assert any("version 1" in note for note in found.notes)
    assert not any("Generalized" in note or "Not released" in note for note in found.notes)


def test_the_time_is_kept(propose: Propose) -> None:
    found = propose(seconds=UNTRIED)
    assert not any(one.recommended for one in found.alternatives)
    assert all("time limit" in one.failure for one in found.alternatives)


def test_it_is_cancelled(open_manager: Open, database: Database, session: Session) -> None:
    session.execute(VISITS)
    jobs = open_manager()
    job = jobs.submit(proposal_work(REQUEST, "{}", composed))
    while jobs.get(job.number).phase is not JobPhase.SEARCHING:
        time.sleep(0.01)
    jobs.cancel(job.number)
    assert ended(jobs, job.number).state is JobState.CANCELLED


@pytest.mark.parametrize(
    ("changes", "error", "field"),
    [
        ({"table": TableReference("", "main", "missing")}, NotFoundError, "table.table"),
        ({"person_column": "missing"}, NotFoundError, "person_column"),
        ({"keep": (KeptColumn("sex"), KeptColumn("missing"))}, NotFoundError, "keep[1].column"),
        ({"table": None, "source_query": "SELECT random() AS x FROM visits"}, InvalidError, "source_query"),
    ],
)
def test_requests_that_do_not_fit(
    propose: Propose, jobs: JobManager, changes: dict[str, Any], error: type[TableveilError], field: str
) -> None:
    with pytest.raises(error) as raised:
        jobs.submit(proposal_work(replace(REQUEST, **changes), "{}", composed))
    assert raised.value.faults[0].field == field


def test_an_empty_table_has_nothing_to_try(jobs: JobManager, session: Session) -> None:
    session.execute("CREATE TABLE visits (age INT, sex VARCHAR)")
    job = ended(jobs, jobs.submit(proposal_work(replace(REQUEST, leave_out=()), "{}", composed)).number)
    assert job.failure is not None
    assert job.failure.code == "PROPOSAL_INVALID"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"table": None}, "table"),
        ({"seconds": Decimal(0)}, "time_limit_seconds"),
        ({"seconds": Decimal(3601)}, "time_limit_seconds"),
        ({"rows_are_people": True, "person_column": "a"}, "rows_are_people"),
        ({"rows_are_people": True, "recurs": True}, "rows_are_people"),
        ({"record_column": "a"}, "record_column"),
        ({"keep": (KeptColumn("a", -1),)}, "keep[0].maximum_level"),
        ({"keep": (KeptColumn("a"),), "leave_out": ("b", "A")}, "leave_out[1]"),
        ({"leave_out": ("",)}, "leave_out[0]"),
        ({"leave_out": ("a",), "acknowledge": ("a", "A")}, "acknowledge[1]"),
    ],
)
def test_requests_that_contradict_themselves(changes: dict[str, Any], field: str) -> None:
    assert [
        fault.field for fault in check_proposal_request(ProposalRequest(**{"table": REQUEST.table, **changes}))
    ] == [field]


def test_people_are_numbered_by_name_and_birth_together(propose: Propose, session: Session) -> None:
    """Some people share a name, and some a day of birth; no column numbers them."""
    session.execute(
        "CREATE OR REPLACE TABLE visits AS SELECT 'Ann ' || (hash(patient_nr, 8) % 60) AS full_name, "
        "* EXCLUDE (patient_nr) FROM (FROM visits)"
    )
    found = propose(seconds=UNTRIED, leave_out=("days", "admission"))
    assert found.decisions == ()
    assert "full_name" in found.notes[0]
    assert "birth_date" in found.notes[0]
    policy = stored_policy(found.alternatives[0].policy)
    assert policy.person_column == "person"
    assert "CONCAT_WS" in policy.source_query
    identifying = {one.column for one in policy.attributes if one.role is Role.IDENTIFYING}
    assert {"full_name", "person", "visit_nr"} <= identifying


def test_a_wide_table_gets_a_choice_of_its_columns(propose: Propose, session: Session) -> None:
    answers = ", ".join(f"(hash(i * 100 + {j}) % 4)::INT AS answer{j}" for j in range(40))
    session.execute(f"""CREATE OR REPLACE TABLE wide AS SELECT i AS row_nr, hash(i, 91) % 2 AS coded_sex,
        ['f', 'm'][1 + coded_sex::INT] AS sex, DATE '1950-01-01' + (hash(i, 92) % 20000)::INT AS birth_date,
        month(birth_date) AS birth_month_of, 'survey' AS source, {answers} FROM range(500) r(i)""")
    found = propose(
        table=TableReference("", "main", "wide"),
        leave_out=(),
        keep=(KeptColumn("answer7"),),
        rows_are_people=True,
        seconds=UNTRIED,
    )
    policy = stored_policy(found.alternatives[0].policy)
    chosen = [attribute.column for attribute in policy.quasi_identifiers]
    assert 8 <= len(chosen) <= 12
    assert {"sex", "birth_date", "answer7"} <= set(chosen)
    notes = " ".join(found.notes)
    assert "since they repeat another column: 'coded_sex' ('sex')" in notes
    assert "since they are a part of a date: 'birth_month_of' ('birth_date')" in notes
    assert "since all rows have one value: 'source'" in notes
    assert f"{len(chosen)} of 44 possible quasi-identifiers are released" in notes
    assert "The next best sets have one column more: --keep 'answer" in notes
    assert "Not released: 'row_nr'." in notes
    assert "'row_nr' seems to identify people (else say --role): it" in notes


def corrected(jobs: JobManager, database: Database, *corrections: v1.CorrectedColumn) -> Proposal:
    """A proposal for the visits with corrections, as a client asks for it."""
    table = policy_pb2.TableReference(schema="main", table="visits")
    asked = v1.ProposalRequest(table=table, time_limit_seconds=str(UNTRIED), correct=corrections)
    read = SUBMISSION.read(v1.SubmitProposalRequest(proposal=asked))
    assert read.work is not None, read.faults
    job = ended(jobs, jobs.submit(read.work).number)
    assert job.result is not None, job.failure
    with database.ledger() as ledger:
        found = PROPOSALS.find(ledger, job.result)
    assert found is not None
    return found


def test_corrections_take_the_place_of_what_was_drafted(jobs: JobManager, database: Database, session: Session) -> None:
    session.execute(VISITS)
    rows = policy_pb2.InlineHierarchy(rows=[policy_pb2.HierarchyRow(labels=[each, "all"]) for each in ("f", "m")])
    found = corrected(
        jobs,
        database,
        v1.CorrectedColumn(column="DIAGNOSIS", role=policy_pb2.ROLE_QUASI_IDENTIFIER),
        v1.CorrectedColumn(column="days", role=policy_pb2.ROLE_SENSITIVE),
        v1.CorrectedColumn(column="sex", hierarchy=policy_pb2.Hierarchy(inline=rows)),
    )
    for one in found.alternatives:
        policy = stored_policy(one.policy)
        of = {attribute.column: attribute for attribute in policy.attributes}
        assert of["diagnosis"].role is Role.QUASI_IDENTIFIER
        assert of["diagnosis"].hierarchy is not None
        assert of["days"].role is Role.SENSITIVE
        assert of["sex"].hierarchy == InlineLevels((("f", "all"), ("m", "all")))
        assert DistinctLDiversity("days", 3) in policy.privacy_models


def test_cells_of_a_column_that_becomes_sensitive_may_be_lists(
    jobs: JobManager, database: Database, session: Session
) -> None:
    lists = "['red|green', 'green', 'blue|red', 'blue'][1 + (hash(patient_nr, 5) % 4)::INT]"
    session.execute(VISITS.replace("['f', 'm'][1 + (hash(patient_nr, 5) % 2)::INT]", lists))
    [one, *_] = corrected(jobs, database, v1.CorrectedColumn(column="sex", role=policy_pb2.ROLE_SENSITIVE)).alternatives
    policy = stored_policy(one.policy)
    of = {attribute.column: attribute for attribute in policy.attributes}
    assert of["sex"].elements == Elements("|")
    assert any(isinstance(model, ProbabilisticLDiversity) and model.column == "sex" for model in policy.privacy_models)


def test_corrections_that_cannot_be_are_refused_with_their_fields() -> None:
    rule = policy_pb2.Hierarchy(suppression_only=policy_pb2.SuppressionOnly())
    table = policy_pb2.Hierarchy(table=policy_pb2.TableHierarchy())
    corrections = [
        v1.CorrectedColumn(column="a"),
        v1.CorrectedColumn(column="b", role=policy_pb2.ROLE_SENSITIVE, hierarchy=rule),
        v1.CorrectedColumn(column="c", role=policy_pb2.ROLE_SENSITIVE),
        v1.CorrectedColumn(column="B", hierarchy=rule),
        v1.CorrectedColumn(column="d", hierarchy=table),
        v1.CorrectedColumn(role=policy_pb2.ROLE_SENSITIVE),
    ]
    asked = v1.ProposalRequest(source_query="SELECT 1", leave_out=["c"], correct=corrections)
    fields = {fault.field for fault in SUBMISSION.read(v1.SubmitProposalRequest(proposal=asked)).faults}
    assert fields == {
        "correct[0].role",
        "correct[1].role",
        "correct[2].role",
        "correct[3].column",
        "correct[4].hierarchy",
        "correct[5].column",
    }
