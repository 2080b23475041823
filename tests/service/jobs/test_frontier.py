"""Jobs for frontiers: they find the figures of releases, write nothing else, and end as other jobs do."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import ConflictError, InfeasibleError, InvalidError, NotFoundError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.lookups import Results
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.frontier import frontier_work
from tableveil.policy import (
    Aggregate,
    AttributePolicy,
    IfExists,
    KAnonymity,
    LossModel,
    NullHandling,
    Policy,
    Role,
    SearchOptions,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.requests.frontier import FrontierGrid
from tableveil.runtime import FailureKind, Job, JobManager
from tableveil.state.frontiers import Frontier
from tableveil.state.jobs import JobKind, JobPhase, JobState
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs.managed import open_with
from tests.service.jobs.plain import plain_target

SECONDS = 60.0
"""How long a test waits for what should take a moment."""

LETTERS = tuple((letter, "vowel" if letter in "aeiou" else "other", "*") for letter in "abcdefghijklmnop")

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "63", ("8", "32"))),
        AttributePolicy("letter", Role.QUASI_IDENTIFIER, InlineLevels(LETTERS), nulls=NullHandling.SUPPRESS),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE),
    ),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    # Nothing of it is there, and nothing may come of it.
    release=plain_target("nowhere", ""),
    suppression_limit=Decimal("0.05"),
)

GRID = FrontierGrid((2, 9), (Decimal(0), Decimal("0.02"), Decimal("0.1")))


@pytest.fixture(autouse=True)
def people(session: Session) -> None:
    session.execute(
        "CREATE TABLE people AS SELECT (hash(i, 1) % 8 * (hash(i, 2) % 8))::INT AS age, "
        "CASE WHEN i % 97 > 0 THEN chr((97 + hash(i, 3) % 4 * (hash(i, 4) % 6))::INT) END AS letter, "
        "i % 2 = 0 AS sex, 'flu' AS illness FROM range(400) r(i)"
    )


Open = Callable[..., JobManager]


@pytest.fixture
def open_manager(database: Database) -> Iterator[Open]:
    opened: list[JobManager] = []

    def open_one(**options: Any) -> JobManager:
        opened.append(open_with(database, **options))
        return opened[-1]

    yield open_one
    for found in opened:
        found.close(SECONDS)


@pytest.fixture
def jobs(open_manager: Open) -> JobManager:
    return open_manager()


def ended(jobs: JobManager, number: int) -> Job:
    deadline = time.monotonic() + SECONDS
    *_, last = jobs.watch(number, lambda: time.monotonic() > deadline)
    assert last.state.ended, last
    return last


def computed(jobs: JobManager, database: Database, policy: Policy = POLICY, grid: FrontierGrid = GRID) -> Frontier:
    job = ended(jobs, jobs.submit(frontier_work(policy, grid, "{}")).number)
    assert job.state is JobState.SUCCEEDED, job.failure
    assert job.result is not None
    return Results[Frontier](database, JobKind.FRONTIER).get(job.result)


def wide(session: Session, columns: int = 24, **search: Any) -> Policy:
    """A policy whose search nobody waits for."""
    names = [f"q{j}" for j in range(columns)]
    answers = ", ".join(f"(hash(i, {j}) % 100 < {10 + 4 * j})::INT AS {name}" for j, name in enumerate(names))
    session.execute(f"CREATE TABLE wide AS SELECT {answers} FROM range(2000) AS r(i)")
    return replace(
        POLICY,
        source=TableReference("", "main", "wide"),
        attributes=tuple(AttributePolicy(name, Role.QUASI_IDENTIFIER, SuppressionOnly()) for name in names),
        search=SearchOptions(**search),
    )


# --- what is found --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", once([FrontierGrid((2, 9), (Decimal(0), Decimal("0.1"))), GRID]))
def test_every_point_is_what_a_release_would_have(
    jobs: JobManager, database: Database, run: Callable[..., Release], grid: FrontierGrid
) -> None:
    frontier = computed(jobs, database, grid=grid)
    assert [(point.k, point.suppression_limit) for point in frontier.points] == [
        (k, limit) for k in grid.ks for limit in grid.suppression_limits
    ]
    feasible = 0
    for point in frontier.points:
        policy = replace(
            POLICY,
            privacy_models=(KAnonymity(point.k),),
            suppression_limit=point.suppression_limit,
            release=plain_target("main", "out", if_exists=IfExists.REPLACE),
            repeat_reason="a test",
        )
        assert point.optimal
        if point.found is None:
            assert point.lower_bound is None
            with pytest.raises(InfeasibleError):
                run(database, policy)
            continue
        feasible += 1
        release = run(database, policy)
        assert release.proof.optimal
        assert (point.found.score, point.lower_bound) == (release.score, release.score)
        assert point.found.levels == tuple(attribute.level for attribute in release.attributes)
        assert point.found.suppressed_records == release.suppressed_records
        assert point.found.classes == release.classes
    # Records with a NULL are more than none may be.
    assert feasible == len(grid.ks) * (len(grid.suppression_limits) - 1)


def test_local_recoding_has_no_worse_point_than_a_transformation(jobs: JobManager, database: Database) -> None:
    mean = replace(POLICY, quality_model=LossModel(Aggregate.ARITHMETIC_MEAN))
    whole = computed(jobs, database, mean)
    local = computed(jobs, database, replace(mean, methods=(LocalRecoding(),)))
    for point, other in zip(local.points, whole.points, strict=True):
        assert (point.k, point.suppression_limit) == (other.k, other.suppression_limit)
        if point.found is None:
            assert other.found is None
            continue
        assert other.found is None or point.found.score <= other.found.score + 1e-12
        assert point.lower_bound is not None
        assert point.lower_bound <= point.found.score
        assert point.found.suppressed_records <= 400 * point.suppression_limit
    found = {(p.k, p.suppression_limit): p.found.score for p in local.points if p.found is not None}
    # Less is asked, no more is lost.
    for (k, limit), score in found.items():
        assert all(score <= stricter + 1e-12 for (a, b), stricter in found.items() if a >= k and b <= limit)
    # Withheld records alone exceed the limit 0.
    assert {limit for _, limit in found} == {Decimal("0.02"), Decimal("0.1")}
    better = {(p.k, p.suppression_limit): p.found.score for p in whole.points if p.found is not None}
    assert any(score < better[pair] for pair, score in found.items())


def test_a_frontier_says_where_it_is_from_and_is_all_that_is_written(
    jobs: JobManager, open_manager: Open, database: Database, session: Session
) -> None:
    frontier = computed(jobs, database)
    assert frontier.source == TableReference("test", "main", "people")
    assert frontier.records == 400
    assert frontier.quasi_identifiers == ("age", "letter", "sex")
    assert frontier.lattice_size == str(4 * 3 * 2)
    assert 0 < frontier.checked <= 24
    assert frontier.counter == "numpy"
    assert 0 < frontier.search_seconds < frontier.seconds
    assert frontier.policy == "{}"
    job = jobs.get(frontier.job)
    assert job.result == frontier.number
    # It is stored: another manager finds it too.
    assert open_manager().get(frontier.job) == job
    tables = session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT temporary")
    assert tables == [("people",)]
    assert session.value("SELECT count(*) FROM tableveil.releases") == 0
    # Hierarchies written out in the policy are kept for releases only.
    assert session.value("SELECT count(*) FROM tableveil.hierarchies") == 0
    again = computed(jobs, database)
    assert again.source_fingerprint == frontier.source_fingerprint
    assert again.points == frontier.points
    session.execute("DELETE FROM people WHERE age = 0")
    assert computed(jobs, database).source_fingerprint != frontier.source_fingerprint


def test_cancelled_after_its_progress_shows(jobs: JobManager, session: Session) -> None:
    job = jobs.submit(frontier_work(wide(session), GRID, "{}"))
    for seen in jobs.watch(job.number, lambda: False):
        if seen.progress is not None:
            break
    assert seen.phase is JobPhase.SEARCHING
    assert seen.progress is not None
    assert seen.progress.lattice_size == str(2**24)
    assert seen.progress.checked > 0
    jobs.cancel(job.number)
    cancelled = ended(jobs, job.number)
    assert cancelled.state is JobState.CANCELLED
    assert cancelled.result is None
    assert session.value("SELECT count(*) FROM tableveil.frontiers") == 0


def test_time_limit_leaves_proven_bounds(jobs: JobManager, database: Database, session: Session) -> None:
    policy = wide(session, time_limit_seconds=Decimal("0.3"))
    frontier = computed(jobs, database, policy, FrontierGrid((5, 10), (Decimal("0.01"), Decimal("0.1"))))
    assert not any(point.optimal for point in frontier.points)
    for point in frontier.points:
        assert point.lower_bound is not None
        assert point.found is not None
        assert point.lower_bound < point.found.score


# --- what is refused ------------------------------------------------------------------------------------------------


def test_a_policy_that_does_not_fit_is_refused(jobs: JobManager) -> None:
    policy = replace(POLICY, attributes=(*POLICY.attributes, AttributePolicy("ilness", Role.SENSITIVE)))
    with pytest.raises(InvalidError) as raised:
        jobs.submit(frontier_work(policy, GRID, "{}"))
    assert [fault.field for fault in raised.value.faults] == ["attributes[4].column"]
    assert jobs.page(None, 10) == []


def test_values_that_do_not_fit_fail_the_job(jobs: JobManager, session: Session) -> None:
    session.execute("INSERT INTO people VALUES (1, 'zz', true, 'flu')")
    job = ended(jobs, jobs.submit(frontier_work(POLICY, GRID, "{}")).number)
    assert job.failure is not None
    assert job.failure.kind is FailureKind.INVALID
    assert job.failure.faults[0].field.startswith("attributes[1].hierarchy")


def test_fewer_records_than_the_least_k(jobs: JobManager, database: Database) -> None:
    grid = FrontierGrid((400, 401), (Decimal(1),))
    reachable, not_reachable = computed(jobs, database, grid=grid).points
    assert reachable.found is not None
    assert not_reachable.found is not None
    assert not_reachable.found.classes == 0
    job = ended(jobs, jobs.submit(frontier_work(POLICY, replace(grid, ks=(401,)), "{}")).number)
    assert job.failure is not None
    assert (job.failure.kind, job.failure.code) == (FailureKind.INFEASIBLE, "TOO_FEW_RECORDS")


def test_unknown_frontier(database: Database, jobs: JobManager) -> None:
    with pytest.raises(NotFoundError) as raised:
        Results[Frontier](database, JobKind.FRONTIER).get(1)
    assert raised.value.code == "FRONTIER_NOT_FOUND"


# --- as other jobs --------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_same_request_is_the_same_job(jobs: JobManager) -> None:
    policy = replace(POLICY, release=plain_target("main", "out"))
    first = ended(jobs, jobs.submit(frontier_work(policy, GRID, "{}"), "r-1").number)
    assert jobs.submit(frontier_work(policy, GRID, "{}"), "r-1") == first
    for document, grid in (('{"k": 7}', GRID), ("{}", replace(GRID, ks=(2,)))):
        with pytest.raises(ConflictError) as raised:
            jobs.submit(frontier_work(policy, grid, document), "r-1")
        assert raised.value.code == "REQUEST_ID_REUSED"
    # The policy's release is another request.
    release = ended(jobs, jobs.submit(release_work(policy, "{}"), "r-1").number)
    assert release.number != first.number
    assert (release.request.kind, release.result) == (JobKind.RELEASE, 1)
    assert jobs.submit(release_work(policy, "{}"), "r-1") == release
    # A released table needs no reason for its frontier.
    later = ended(jobs, jobs.submit(frontier_work(policy, GRID, "{}")).number)
    assert (later.state, later.request.kind) == (JobState.SUCCEEDED, JobKind.FRONTIER)


def test_a_frontier_takes_no_target(open_manager: Open, session: Session) -> None:
    """Not from a release of the same policy, nor from another frontier."""
    jobs = open_manager(concurrent_jobs=1)
    policy = replace(wide(session), release=plain_target("main", "out"))
    frontier = frontier_work(policy, GRID, "{}")
    submitted = [jobs.submit(work) for work in (frontier, frontier, release_work(policy, "{}"))]
    assert [job.request.target_name for job in submitted] == ["", "", "out"]
    for job in reversed(submitted):
        jobs.cancel(job.number)


def test_close_interrupts_and_the_request_starts_anew(
    open_manager: Open, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = open_manager(concurrent_jobs=1)
    policy = wide(session)
    first = dead.submit(frontier_work(policy, GRID, "{}"), "r-1")
    dead.close(SECONDS)
    jobs = open_manager()
    interrupted = jobs.get(first.number)
    assert interrupted.state is JobState.INTERRUPTED
    assert interrupted.request.kind is JobKind.FRONTIER
    assert interrupted.request.options == frontier_work(policy, GRID, "{}").options
    again = jobs.submit(frontier_work(policy, GRID, "{}"), "r-1")
    assert again.number != first.number
    jobs.cancel(again.number)
