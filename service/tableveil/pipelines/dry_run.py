"""One job from policy to dry run: makes the release of the policy under a private name, and takes it back.

In a warehouse nothing is written: the figures are those of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tableveil.backend import WarehouseSession
from tableveil.errors import Fault, TableveilError
from tableveil.pipelines.anonymize import solved
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.read import hierarchies_of
from tableveil.pipelines.result import store_result
from tableveil.pipelines.work import Work, fitting, policy_work
from tableveil.policy import Policy, ReleaseKind, early_warnings
from tableveil.release import ReleasePlan, check_existing, check_ledger, check_target, rehearse
from tableveil.source import Fingerprint, resolve_source
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state.dry_runs import DRY_RUNS, DryRun
from tableveil.state.jobs import JobPhase
from tableveil.state.kinds import JobKind


def run_dry_run(job: JobContext, policy: Policy) -> int:
    """Stores a dry run and returns its number.

    Raises:
        TableveilError: nothing was stored.
    """
    session, report = job.rows, job.report
    report.phase(JobPhase.READING)
    found, resolved, faults = resolve_source(session, policy)
    source = fitting(found, faults)
    private = replace(
        resolved.release, schema=STATE_SCHEMA, name=f"dry_run_of_job_{job.number}", kind=ReleaseKind.TABLE
    )
    rehearsed = replace(resolved, release=private, repeat_reason="a dry run")
    plan, evidence = solved(job, source, rehearsed, hierarchies_of(session, resolved))
    refusals = tuple(_refusals(session, resolved, plan, evidence.fingerprint))
    release = rehearse(job.database, session, plan, evidence, verifying=lambda: report.phase(JobPhase.VERIFYING))
    return store_result(
        job, DRY_RUNS, lambda number: DryRun.of(release, number, refusals), warnings=(*release.warnings, *refusals)
    )


def dry_run_work(policy: Policy, document: str) -> Work:
    """The work for a dry run; in the database it needs as much room as the release."""
    work = policy_work(JobKind.DRY_RUN, policy, document, lambda job: run_dry_run(job, policy))
    return replace(work, released=policy, rehearsed=True, warnings=tuple(early_warnings(policy)))


def _refusals(session: WarehouseSession, policy: Policy, plan: ReleasePlan, fingerprint: Fingerprint) -> Iterator[str]:
    """The reasons why a release would be refused at the moment, whatever its rows are."""
    target = check_target(session, policy, plan.source) if policy.release.name else []
    checks: list[Callable[[], object]] = [lambda: check_ledger(session, policy, plan.source, fingerprint)]
    if policy.release.name and not target:
        checks.append(lambda: check_existing(session, policy.release))
    for fault in (*target, *(fault for check in checks for fault in _faults(check))):
        yield f"A release would be refused: {fault}"


def _faults(check: Callable[[], object]) -> tuple[Fault, ...]:
    try:
        check()
    except TableveilError as error:
        return error.faults
    return ()
