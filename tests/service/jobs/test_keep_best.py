"""Searches that are asked to end with the best that they have, at any time, and again, and cancelled after that."""

import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.errors import ConflictError
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.local_recoding import recode
from tableveil.lookups import Results
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.dry_run import dry_run_work
from tableveil.pipelines.frontier import frontier_work
from tableveil.pipelines.local_recoding import method as local_recoding
from tableveil.pipelines.payout_sweep import payout_sweep_work
from tableveil.pipelines.work import Work
from tableveil.policy import AttributePolicy, Policy, Role, Strategy, TableReference
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.policy.methods.record_level import RecordLevel
from tableveil.requests.frontier import FrontierGrid
from tableveil.requests.payout_sweep import SweptGains
from tableveil.runtime import Job, JobManager
from tableveil.state.frontiers import Frontier
from tableveil.state.jobs import JobKind, JobPhase, JobState
from tableveil.state.releases import RELEASES, Release
from tests.once import once
from tests.service.jobs.managed import POLICY, SECONDS, Gate, ended, to

GRID = FrontierGrid((2, 9), (Decimal(0), Decimal("0.1")))


@pytest.fixture
def wide(session: Session) -> Policy:
    """A policy whose search nobody waits for."""
    names = [f"q{j}" for j in range(20)]
    answers = ", ".join(f"(hash(i, {j}) % 100 < {10 + 4 * j})::INT AS {name}" for j, name in enumerate(names))
    session.execute(f"CREATE TABLE wide AS SELECT {answers} FROM range(500) AS r(i)")
    return replace(
        POLICY,
        source=TableReference("", "main", "wide"),
        attributes=tuple(AttributePolicy(name, Role.QUASI_IDENTIFIER, SuppressionOnly()) for name in names),
    )


def searching(jobs: JobManager, work: Work) -> Job:
    """The job once its search shows what it has."""
    job = jobs.submit(work)
    for seen in jobs.watch(job.number, lambda: False):
        if seen.progress is not None and (seen.progress.best_score is not None or work.kind is JobKind.FRONTIER):
            assert seen.phase is JobPhase.SEARCHING
            return seen
    raise AssertionError(seen.failure)


def release_of(database: Database, job: Job) -> Release:
    assert job.result is not None, job.failure
    with database.ledger() as ledger:
        found = RELEASES.find(ledger, job.result)
    assert found is not None
    return found


@pytest.mark.parametrize("strategy", once([Strategy.ANYTIME, Strategy.BEST_FIRST]))
def test_a_release_of_the_best_so_far(jobs: JobManager, database: Database, wide: Policy, strategy: Strategy) -> None:
    policy = replace(wide, search=replace(wide.search, strategy=strategy))
    job = searching(jobs, release_work(policy, "{}"))
    for _ in range(2):
        jobs.keep_best(job.number)
    done = ended(jobs, job.number)
    release = release_of(database, done)
    assert release.proof.lower_bound < release.score
    assert any(warning.startswith("A request to keep the best ended the search") for warning in done.warnings)
    # It has ended: there is nothing to stop, and nothing changes.
    assert jobs.keep_best(job.number) == done


@pytest.mark.parametrize("make", once([dry_run_work, lambda policy, text: frontier_work(policy, GRID, text)]))
def test_dry_runs_and_frontiers(
    jobs: JobManager, database: Database, wide: Policy, make: Callable[[Policy, str], Work]
) -> None:
    job = searching(jobs, make(wide, "{}"))
    jobs.keep_best(job.number)
    done = ended(jobs, job.number)
    assert done.state is JobState.SUCCEEDED, done.failure
    if done.request.kind is JobKind.FRONTIER:
        assert done.result is not None
        assert any(point.found for point in Results[Frontier](database, JobKind.FRONTIER).get(done.result).points)


@pytest.mark.long
def test_local_recoding_while_classes_are_formed(
    jobs: JobManager, database: Database, wide: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = threading.Event()

    def held(problem: Any, control: Control, *others: Any, **named: Any) -> Any:
        reached.set()
        while not control.must_stop:
            pass
        return recode(problem, control, *others, **named)

    monkeypatch.setattr(local_recoding, "recode", held)
    job = searching(jobs, release_work(replace(wide, methods=(LocalRecoding(),)), "{}"))
    jobs.keep_best(job.number)
    release = release_of(database, ended(jobs, job.number))
    assert reached.is_set()
    assert release.proof.strategy.endswith(", ended by a request to keep the best")


def test_cancelled_after_it_was_asked_to_keep_the_best(jobs: JobManager, wide: Policy) -> None:
    job = searching(jobs, release_work(wide, "{}"))
    jobs.keep_best(job.number)
    jobs.cancel(job.number)
    # Either came first, but nothing is half done.
    done = ended(jobs, job.number)
    assert (done.state is JobState.CANCELLED) == (done.result is None)


@pytest.mark.usefixtures("patients")
def test_nothing_is_kept_of_a_job_that_has_nothing_yet(open_manager: Callable[..., JobManager]) -> None:
    gate, jobs = Gate(), open_manager(concurrent_jobs=1)
    for number in (1, 2):
        work = release_work(to(f"released_{number}"), "{}")
        assert jobs.submit(replace(work, run=lambda context: gate.run(context, POLICY))).number == number
    gate.wait_for(1)
    for number in (1, 2):
        with pytest.raises(ConflictError) as raised:
            jobs.keep_best(number)
        assert raised.value.code == "NOTHING_TO_KEEP"
    gate.open.set()
    # They were not asked to stop: what runs, runs on.
    assert ended(jobs, 2, SECONDS).failure is not None


@pytest.mark.usefixtures("patients")
@pytest.mark.parametrize(
    ("make", "named"),
    once(
        [
            (lambda: release_work(to("released", methods=(Microaggregation(),)), "{}"), "microaggregation"),
            (lambda: dry_run_work(to("released", methods=(Microaggregation(),)), "{}"), "microaggregation"),
            (lambda: release_work(to("released", methods=(RecordLevel(),)), "{}"), "record-level game"),
            (lambda: payout_sweep_work(POLICY, SweptGains((Decimal(1),), if_method_known=False), "{}"), "payout sweep"),
        ],
        2,
        several=True,
    ),
)
def test_work_that_has_nothing_valid_before_its_end_is_named(
    open_manager: Callable[..., JobManager], make: Callable[[], Work], named: str
) -> None:
    gate, jobs = Gate(), open_manager(concurrent_jobs=1)
    job = jobs.submit(replace(make(), run=lambda context: gate.run(context, POLICY)))
    gate.wait_for(1)
    with pytest.raises(ConflictError, match=named) as raised:
        jobs.keep_best(job.number)
    assert raised.value.code == "NOTHING_TO_KEEP"
    assert "cancel it" in raised.value.faults[0].hint
    gate.open.set()
    done = ended(jobs, job.number)
    assert jobs.keep_best(job.number) == done
