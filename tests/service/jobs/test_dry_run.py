"""Dry runs: they tell what the release would be, and leave nothing but that."""

from dataclasses import fields, replace
from decimal import Decimal

import pytest

from tableveil.backend import ALL, Database, Session, Visibility, seeing
from tableveil.control import Control
from tableveil.hierarchy import HierarchyDefinition, SafeHarborAge, TableLevels
from tableveil.pipelines.dry_run import dry_run_work
from tableveil.policy import Game, KAnonymity, Policy, Profitability, PublisherPayoutModel, ReleaseKind, TableReference
from tableveil.runtime import Job, JobManager, Removals
from tableveil.state.dry_runs import DRY_RUNS, DryRun
from tableveil.state.jobs import JobState
from tableveil.state.loads import RemovalKind
from tableveil.state.releases import RELEASES
from tests.once import once
from tests.service.jobs.managed import POLICY, ended, submit, to
from tests.service.jobs.plain import plain_target

pytestmark = pytest.mark.usefixtures("patients")

SAME = {field.name for field in fields(DryRun)} - {
    "number",
    "job",
    "created_at",
    "seconds",
    "refusals",
    "policy",
    "proof",
    "rows",
}
"""The evidence that a dry run shares with the release."""


def dry_run(jobs: JobManager, policy: Policy) -> Job:
    return ended(jobs, jobs.submit(dry_run_work(policy, "{}")).number)


def found(database: Database, job: Job) -> DryRun:
    assert job.failure is None, job.failure
    assert job.result is not None
    with database.ledger() as ledger:
        one = DRY_RUNS.find(ledger, job.result)
    assert one is not None
    return one


def everything(session: Session) -> dict[str, int]:
    """All tables and views, each with its number of rows."""
    names = session.rows("SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT temporary ORDER BY 1")
    views = session.rows("SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1")
    return {name: session.value(f"SELECT count(*) FROM {name}") for (name,) in (*names, *views)}


@pytest.mark.parametrize("kind", once(ReleaseKind))
def test_it_tells_what_the_release_will_be(jobs: JobManager, database: Database, kind: ReleaseKind) -> None:
    policy = replace(POLICY, suppression_limit=Decimal("0.2"), release=plain_target("main", "out", kind))
    told = found(database, dry_run(jobs, policy))
    assert told.refusals == ()
    released = ended(jobs, submit(jobs, policy).number)
    assert released.result == 1
    with database.ledger() as ledger:
        release = RELEASES.find(ledger, 1)
    assert {name: getattr(told, name) for name in SAME} == {name: getattr(release, name) for name in SAME}
    assert release is not None
    assert (told.proof.optimal, told.proof.lower_bound) == (release.proof.optimal, release.proof.lower_bound)


def test_it_is_played_as_a_game_by_hierarchies_that_are_not_stored(
    jobs: JobManager, database: Database, session: Session
) -> None:
    session.execute("CREATE TABLE wards AS SELECT DISTINCT ward, 'house' AS \"house@1\", '*' AS top FROM patients")
    hierarchies: dict[str, HierarchyDefinition] = {"age": SafeHarborAge(), "ward": TableLevels("", "main", "wards")}
    attributes = tuple(
        replace(each, hierarchy=hierarchies.get(each.column, each.hierarchy)) for each in POLICY.attributes
    )
    game = Game(Decimal(1200), Decimal(2000), Decimal(2000), Decimal(400))
    policy = replace(
        POLICY,
        attributes=attributes,
        privacy_models=(Profitability(),),
        quality_model=PublisherPayoutModel(),
        game=game,
        suppression_limit=Decimal(1),
    )
    told = found(database, dry_run(jobs, policy))
    assert ended(jobs, submit(jobs, policy).number).result == 1
    with database.ledger() as ledger:
        release = RELEASES.find(ledger, 1)
    assert release is not None
    assert told.score == release.score


def test_it_leaves_nothing_else(jobs: JobManager, session: Session) -> None:
    before = everything(session)
    assert dry_run(jobs, POLICY).state is JobState.SUCCEEDED
    after = everything(session)
    changed = {name for name in after if after[name] != before.get(name)}
    of_job = ("jobs", "job_events", "job_outcomes", "job_reads", "job_rights")
    own = {f"tableveil.{name}" for name in (*of_job, *DRY_RUNS.names())}
    assert after.keys() == before.keys()
    assert changed <= own


def test_it_says_why_a_release_would_be_refused(jobs: JobManager, database: Database) -> None:
    policy = replace(POLICY, repeat_reason="")
    submit(jobs, policy)
    ended(jobs, 1)
    taken = found(database, dry_run(jobs, policy))
    assert "expected nothing of these names" in "".join(taken.refusals)
    repeated = found(database, dry_run(jobs, replace(to("other"), repeat_reason="")))
    assert "releases/1 came from this source" in "".join(repeated.refusals)
    missing = replace(policy, release=plain_target("main", ""), repeat_reason="tuning")
    assert found(database, dry_run(jobs, missing)).refusals == ()


def test_a_policy_that_cannot_be_met_fails_as_a_release_does(jobs: JobManager, session: Session) -> None:
    policy = replace(POLICY, privacy_models=(KAnonymity(31),), suppression_limit=Decimal(0))
    job = dry_run(jobs, policy)
    assert job.failure is not None
    assert job.failure.code == ended(jobs, submit(jobs, policy).number).failure.code  # type: ignore[union-attr]
    assert session.value("SELECT count(*) FROM tableveil.dry_runs") == 0


def test_it_shows_rows_that_are_spread_over_those_it_would_release(jobs: JobManager, database: Database) -> None:
    shown = found(database, dry_run(jobs, replace(POLICY, suppression_limit=Decimal("0.2")))).rows
    assert len(shown) == 15, "every second of 30 rows: three in four would be more than 20"
    assert list(shown[0].values) == ["age", "ward", "illness"]
    ended(jobs, submit(jobs, replace(POLICY, suppression_limit=Decimal("0.2"))).number)
    with database.session() as session:
        released = session.rows("SELECT age::VARCHAR, ward::VARCHAR, illness FROM released")
    assert {tuple(one.values.values()) for one in shown} <= set(released)
    assert len({one.values["age"] for one in shown}) == len({age for age, *_ in released}), "not one class alone"


def test_only_owners_see_its_rows(jobs: JobManager, database: Database) -> None:
    number = dry_run(jobs, POLICY).result
    judging = Visibility("approver", judged=ALL, reviewed=ALL)
    with seeing(lambda: judging), database.ledger() as ledger:
        reviewed = DRY_RUNS.find(ledger, number or 0)
    assert reviewed is not None
    assert reviewed.rows == ()


def test_its_rows_go_with_those_of_the_table(jobs: JobManager, database: Database) -> None:
    job = dry_run(jobs, POLICY)
    assert found(database, job).rows
    Removals(database, jobs).remove(RemovalKind.TRUNCATE, TableReference("", "main", "Patients"), Control())
    assert found(database, job).rows == ()
