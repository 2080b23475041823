"""Trials: releases that only their maker sees, compared with nothing, until they are promoted, expire or are erased."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tableveil.backend import ALL, Database, Session, Visibility, seeing
from tableveil.control import Control
from tableveil.errors import ConflictError, NotFoundError, TableveilError
from tableveil.lookups import Releases
from tableveil.operate.objects import orphans
from tableveil.pipelines.anonymize import release_work
from tableveil.policy import IfExists, LeftBehind, Policy, ReleaseGuards, ReleaseKind, TableReference
from tableveil.runtime import Job, JobManager, JobSettings, Removals, open_jobs
from tableveil.state import schema_rules
from tableveil.state.decisions import Decision
from tableveil.state.jobs import now
from tableveil.state.matches import unmatched
from tableveil.state.releases import Release, ReleaseState, compared_releases
from tests.another_duckdb import AnotherDuckDB
from tests.migrated import passing
from tests.once import once
from tests.service.jobs.contexts import NO_MODELS
from tests.service.jobs.elsewhere import MADE
from tests.service.jobs.elsewhere import POLICY as ELSEWHERE
from tests.service.jobs.managed import OF_KNOWN_PEOPLE, POLICY, Open, ended
from tests.service.jobs.plain import plain_target

MINE = Visibility(principal="ann", owned=ALL)
OF_ANOTHER = Visibility(principal="bob", owned=ALL, reviewed=ALL, judged=ALL, published=ALL, every_job=True)
FIRST = replace(POLICY, repeat_reason="", release=plain_target("main", "tried"))
"""Without a reason: a trial needs none."""


@pytest.fixture
def database(tmp_path: Path, released_once: Path) -> Iterator[Database]:
    """With the public releases/1 of the patients."""
    yield from passing(tmp_path / "test.duckdb", released_once)


@pytest.fixture
def jobs(open_manager: Open) -> JobManager:
    return open_manager(policy_of=lambda _: NO_MODELS)


def made(jobs: JobManager, policy: Policy = FIRST, document: dict[str, str] | None = None) -> Job:
    text = json.dumps(document or {"target": policy.release.name})
    return ended(jobs, jobs.submit(release_work(policy, text, is_trial=True)).number)


def trial(jobs: JobManager, policy: Policy = FIRST, document: dict[str, str] | None = None) -> int:
    job = made(jobs, policy, document)
    assert job.result is not None, job.failure
    return job.result


def found(database: Database, number: int) -> Release:
    return Releases(database).get(number)


def promote(jobs: JobManager, number: int, policy: Policy = FIRST, **changes: Any) -> None:
    jobs.releases.promote(number, replace(policy, **changes), "{}")


def refused(code: str, jobs: JobManager, number: int, policy: Policy = FIRST, **changes: Any) -> TableveilError:
    with pytest.raises(TableveilError) as raised:
        promote(jobs, number, policy, **changes)
    assert raised.value.code == code
    assert found(jobs._database, number).state is not ReleaseState.APPROVED
    return raised.value


def tables(session: Session) -> set[str]:
    rows = session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' OR table_name LIKE 'pend%'")
    return {name for (name,) in rows}


def test_a_trial_needs_no_reason_and_stays_private_until_it_is_promoted(
    jobs: JobManager, database: Database, session: Session
) -> None:
    before = tables(session)
    number = trial(jobs)
    waits = found(database, number)
    assert (waits.state, waits.current, waits.waits) == (ReleaseState.TRIAL, False, True)
    assert waits.trial is not None
    assert timedelta(days=6) < waits.trial.expires_at - now() < timedelta(days=8)
    assert not {name for name in tables(session) - before if not name.startswith("pending")}
    with pytest.raises(ConflictError) as raised, Releases(database).read(number, "tried"):
        pass
    assert raised.value.code == "RELEASE_IS_TRIAL"
    with pytest.raises(ConflictError, match="trial"):
        jobs.releases.decide(number, Decision(True, "bob", now(), "fine"), lambda _: FIRST)
    shown = session.rows(f"FROM tableveil.pending_{number}")

    refused("REPEATED_RELEASE", jobs, number)
    promote(jobs, number, repeat_reason="another question")

    after = found(database, number)
    assert (after.state, after.current, after.repeat_reason) == (ReleaseState.APPROVED, True, "another question")
    assert session.rows("FROM main.tried") == shown
    assert tables(session) - before == set(FIRST.release.object_names)
    assert orphans(session) == []
    refused_again = pytest.raises(ConflictError, match="approved")
    with refused_again:
        promote(jobs, number, repeat_reason="again")


def test_nobody_but_its_maker_sees_a_trial(jobs: JobManager, database: Database, session: Session) -> None:
    with seeing(lambda: MINE):
        number = trial(jobs)
        assert [release.number for release in Releases(database).page(None, 9)] == [number, 1]
    with seeing(lambda: OF_ANOTHER):
        assert [release.number for release in Releases(database).page(None, 9)] == [1]
        with pytest.raises(NotFoundError):
            jobs.releases.promote(number, FIRST, "{}")
        with pytest.raises(NotFoundError):
            jobs.releases.withdraw(number, "not mine")
        with pytest.raises(NotFoundError):
            Releases(database).get(number)
    with seeing(lambda: MINE):
        promote(jobs, number, repeat_reason="mine")
    with seeing(lambda: OF_ANOTHER):
        assert Releases(database).get(number).current


def test_trials_are_compared_with_nothing_and_promoted_in_turn_a_repetition(
    jobs: JobManager, database: Database, session: Session
) -> None:
    session.execute(
        "CREATE TABLE strangers AS SELECT 100 + i % 3 AS age, i % 2 AS ward, i AS illness FROM range(9) r(i)"
    )
    policy = replace(FIRST, source=TableReference("", "main", "strangers"))
    first, second = (trial(jobs, replace(policy, release=plain_target("main", name))) for name in ("one", "two"))
    assert compared_releases(session.ledger) == {1}
    assert not {first, second} & set(unmatched(session.ledger))
    promote(jobs, second, replace(policy, release=plain_target("main", "two")))
    assert compared_releases(session.ledger) == {1, second}
    refused("REPEATED_RELEASE", jobs, first, replace(policy, release=plain_target("main", "one")))


@pytest.mark.parametrize(
    "statement",
    once(
        [
            "UPDATE patients SET age = 77 WHERE illness = 'illness 1'",
            "ALTER TABLE patients ADD COLUMN more INTEGER",
            "CREATE OR REPLACE TABLE patients AS FROM patients LIMIT 29",
        ]
    ),
)
def test_a_changed_source_is_refused(jobs: JobManager, session: Session, statement: str) -> None:
    number = trial(jobs)
    session.execute(statement)
    with pytest.raises(TableveilError) as raised:
        promote(jobs, number, repeat_reason="a test")
    assert raised.value.code in ("SOURCE_CHANGED", "POLICY_INVALID")


@pytest.mark.long
def test_a_policy_that_does_not_fit_any_more_is_refused(jobs: JobManager, session: Session) -> None:
    number = trial(jobs)
    session.execute("ALTER TABLE patients DROP COLUMN illness")
    refused("POLICY_INVALID", jobs, number, repeat_reason="a test")


def test_a_newer_release_of_the_target_is_not_replaced(jobs: JobManager, database: Database) -> None:
    target = plain_target("main", "released", if_exists=IfExists.REPLACE)
    older = trial(jobs, replace(FIRST, release=target))
    newer = jobs.submit(release_work(replace(POLICY, release=target), "{}"))
    assert ended(jobs, newer.number).failure is None
    error = refused("RELEASE_OVERTAKEN", jobs, older, replace(POLICY, release=target))
    assert "Submit it again" in error.faults[0].hint


@pytest.mark.long
def test_guards_and_the_target_are_asked_when_it_is_promoted(jobs: JobManager, session: Session) -> None:
    standing = replace(POLICY, release=plain_target("main", "released"))
    refused("TARGET_EXISTS", jobs, trial(jobs, standing), standing)
    guarded = replace(FIRST, release=replace(FIRST.release, guards=ReleaseGuards(minimum_records=31)))
    refused("GUARDED", jobs, trial(jobs, guarded), guarded, repeat_reason="a test")


@pytest.mark.long
def test_a_promoted_trial_waits_for_approval_where_its_schema_asks(
    open_manager: Open, database: Database, session: Session
) -> None:
    jobs = open_manager(approval=["main"], policy_of=lambda _: NO_MODELS)
    number = trial(jobs)
    promote(jobs, number, repeat_reason="a test")
    waits = found(database, number)
    assert (waits.state, waits.waits) == (ReleaseState.PENDING, True)
    jobs.releases.decide(number, Decision(True, "bob", now(), "fine"), lambda _: FIRST)
    assert found(database, number).current
    assert session.value("SELECT count(*) FROM main.tried") > 0


def test_the_rule_of_its_schema_lets_it_wait(jobs: JobManager, database: Database, session: Session) -> None:
    with session.transaction():
        schema_rules.put(session.ledger, "main", True, "ann", now())
    number = trial(jobs)
    promote(jobs, number, repeat_reason="a test")
    waits = found(database, number)
    assert waits.state is ReleaseState.PENDING
    assert any("waits for approval" in text for text in waits.warnings)
    assert any(guarantee.model.startswith("joint_k") for guarantee in waits.guarantees)


def test_a_trial_that_was_judged_together_with_others_than_now_is_refused(jobs: JobManager, session: Session) -> None:
    session.execute(
        "CREATE TABLE strangers AS SELECT 500 + i AS id, 100 + i % 3 AS age, i % 2 AS ward, i AS illness "
        "FROM range(9) r(i)"
    )
    judged = replace(
        OF_KNOWN_PEOPLE,
        source=TableReference("", "main", "strangers"),
        release=plain_target("main", "judged", left_behind=LeftBehind.REPORT),
    )
    number = trial(jobs, judged)
    other = replace(judged, release=plain_target("main", "other"))
    assert ended(jobs, jobs.submit(release_work(other, "{}")).number).failure is None
    refused("RELEASED_MEANWHILE", jobs, number, judged)


def test_a_trial_expires(open_manager: Open, database: Database, session: Session) -> None:
    jobs = open_manager(policy_of=lambda _: NO_MODELS)
    number = trial(jobs)
    session.execute("UPDATE tableveil.trials SET expires_at = ?", [now() - timedelta(seconds=1)])
    refused("TRIAL_EXPIRED", jobs, number, repeat_reason="a test")
    jobs._expiry.follow()
    gone = found(database, number)
    assert (gone.state, gone.withdrawal is not None) == (ReleaseState.WITHDRAWN, True)
    assert not {name for name in tables(session) if name.startswith("pending")}
    assert session.value("SELECT count(*) FROM tableveil.release_samples WHERE release = ?", [number]) == 0
    assert number not in compared_releases(session.ledger)
    with seeing(lambda: OF_ANOTHER), pytest.raises(NotFoundError):
        Releases(database).get(number)
    with pytest.raises(ConflictError):
        promote(jobs, number)


@pytest.mark.parametrize("known", once([True, False]))
def test_an_erasure_reaches_it(jobs: JobManager, database: Database, session: Session, known: bool) -> None:
    session.execute("CREATE TABLE people AS SELECT row_number() OVER () AS id, * FROM patients")
    people = TableReference("", "main", "people")
    policy = replace(OF_KNOWN_PEOPLE, source=people, release=FIRST.release)
    if not known:
        policy = replace(policy, no_person_digests=True)
    number = trial(jobs, policy, {"person_column": "id"})
    removals = Removals(database, jobs)
    if known:
        removals.erase(people, "id", ["777"], Control())
        assert found(database, number).state is ReleaseState.TRIAL
    erasure = removals.erase(people, "id", ["7"], Control())
    assert (erasure.holding, erasure.untold, erasure.hidden) == ((), (), False)
    assert found(database, number).state is ReleaseState.WITHDRAWN
    assert not {name for name in tables(session) if name.startswith("pending")}


@pytest.mark.long
def test_a_view_and_two_trials_at_once(jobs: JobManager, session: Session) -> None:
    policy = replace(FIRST, release=plain_target("main", "seen", ReleaseKind.VIEW))
    queued = [jobs.submit(release_work(policy, json.dumps({"n": n}), is_trial=True)) for n in range(2)]
    numbers = [ended(jobs, job.number).result for job in queued]
    promote(jobs, numbers[1] or 0, policy, repeat_reason="a test")
    assert session.value("SELECT count(*) FROM main.seen") > 0
    jobs.releases.withdraw(numbers[0] or 0, "the other one is better")


@pytest.mark.long
def test_a_trial_in_a_warehouse(database: Database, session: Session, tmp_path: Path) -> None:
    lake = AnotherDuckDB(tmp_path)
    with lake.database.session() as rows:
        rows.execute("CREATE SCHEMA clinic")
        for statement in MADE:
            rows.execute(statement.replace("{}", "clinic"))
    database.warehouses["lake"] = lake
    jobs = open_jobs(database, JobSettings(1), policy_of=lambda _: NO_MODELS)
    number = trial(jobs, ELSEWHERE)
    jobs.close(10)
    # The next start leaves it where it is.
    jobs = open_jobs(database, JobSettings(1), policy_of=lambda _: NO_MODELS)
    promote(jobs, number, ELSEWHERE)
    jobs.close(10)
    assert found(database, number).current
    with database.rows_session(session, "lake") as rows:
        assert rows.value("SELECT count(*) FROM lake.clinic.released") > 0
        assert not [one.name for one in rows.listed("tableveil") if one.name.startswith("tableveil_staged")]
