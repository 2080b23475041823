"""One job from policy to release: read, count, solve, write, verify, record; each layer does its own part."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from tableveil.backend import WarehouseSession
from tableveil.pipelines.full_domain import FullDomain
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.local_recoding import LocalRecodingMethod
from tableveil.pipelines.microaggregation import Microaggregation
from tableveil.pipelines.read import FoundHierarchies, check_request, read_dictionaries, resolve_fully
from tableveil.pipelines.record_level import RecordLevel
from tableveil.pipelines.solution import Method
from tableveil.pipelines.work import Work, fitting, policy_work
from tableveil.policy import Policy, TableReference, early_warnings
from tableveil.release import Evidence, ReleasePlan, check_disclosure, check_existing, check_ledger, publish
from tableveil.source import Source, population_fingerprint
from tableveil.source.tables import recorded
from tableveil.state.jobs import JobPhase
from tableveil.state.kinds import JobKind
from tableveil.state.migrate import fingerprint_key


def anonymize(job: JobContext, policy: Policy) -> int:
    """Makes a release, which stays private if its schema asks for approval, and returns its number.

    Raises:
        TableveilError: nothing was written.
    """
    needs_approval = job.needs_approval(job.rows.scope(policy.release.schema))
    job.report.phase(JobPhase.READING)
    plan, evidence = solved(job, *resolve_fully(job.rows, policy, store=True))
    verifying = partial(job.report.phase, JobPhase.VERIFYING)
    return publish(job.database, job.rows, plan, evidence, verifying, needs_approval=needs_approval)


def solved(
    job: JobContext, source: Source, policy: Policy, hierarchies: FoundHierarchies
) -> tuple[ReleasePlan, Evidence]:
    """The plan of the release, and the evidence for it; nothing is written yet.

    Raises:
        TableveilError: the policy allows no release of the source's rows.
    """
    method, session, report = method_of(policy), job.rows, job.report
    # One transaction, so that all reads see one state of the rows.
    with session.transaction():
        fingerprint, dictionaries = read_dictionaries(session, source, policy, hierarchies, job.policy_of)
        report.phase(JobPhase.COUNTING)
        counts = method.count(job, dictionaries.policy, dictionaries)
        of_population = population_fingerprint(session, source, fingerprint_key(session.ledger))
    report.phase(JobPhase.SEARCHING)
    solution = method.solve(job, counts)
    report.phase(JobPhase.WRITING)
    check_disclosure(session, solution.plan)
    return solution.plan, Evidence(
        job=job.number,
        document=job.document,
        fingerprint=fingerprint,
        population_fingerprint=of_population,
        score=solution.score,
        parts=solution.parts,
        proof=solution.proof,
        losses=solution.losses,
        quality_model=solution.quality_model,
        chosen_by=solution.chosen_by,
        explanation=solution.explanation,
        sizes_before=solution.sizes_before,
        warnings=(*solution.warnings, *dictionaries.warnings),
        elapsed=report.elapsed,
        phases=report.seconds,
        guarantees=solution.guarantees,
        costs=solution.costs,
        alternatives=solution.alternatives,
    )


def release_work(policy: Policy, document: str) -> Work:
    """The work for a release; it is admitted if its target is free and the ledger allows it."""

    def admit(session: WarehouseSession) -> TableReference:
        source, resolved, faults = check_request(session, policy)
        found = fitting(source, faults)
        check_existing(session, resolved.release)
        check_ledger(session, resolved, found, None)
        return recorded(session, [found.reference])[0]

    work = policy_work(JobKind.RELEASE, policy, document, lambda job: anonymize(job, policy))
    return replace(work, admit=admit, released=policy, warnings=tuple(early_warnings(policy)))


def method_of(policy: Policy) -> Method[Any]:
    """The method that a policy asks for."""
    if policy.record_level is not None:
        return RecordLevel(policy.record_level)
    if policy.microaggregation is not None:
        return Microaggregation(policy.microaggregation)
    if policy.local_recoding is not None:
        return LocalRecodingMethod()
    return FullDomain()
