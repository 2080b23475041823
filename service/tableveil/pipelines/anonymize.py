"""One job from policy to release: read, count, solve, write, verify, record; each layer does its own part."""

from __future__ import annotations

from typing import Any

from tableveil.pipelines.full_domain import FullDomain
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.local_recoding import LocalRecodingMethod
from tableveil.pipelines.microaggregation import Microaggregation
from tableveil.pipelines.read import read_dictionaries, resolve_fully
from tableveil.pipelines.record_level import RecordLevel
from tableveil.pipelines.solution import Method
from tableveil.policy import Policy
from tableveil.release import Evidence, check_disclosure, publish
from tableveil.source import population_fingerprint
from tableveil.state.jobs import JobPhase
from tableveil.state.migrate import fingerprint_key


def anonymize(job: JobContext, policy: Policy) -> int:
    """Makes a release and returns its number.

    Raises:
        TableveilError: nothing was written.
    """
    method, session, report = method_of(policy), job.session, job.report
    report.phase(JobPhase.READING)
    source, policy, hierarchies = resolve_fully(session, policy, store=True)
    # One transaction, so that all reads see one state of the rows.
    with session.transaction():
        fingerprint, dictionaries = read_dictionaries(session, source, policy, hierarchies)
        report.phase(JobPhase.COUNTING)
        counts = method.count(job, policy, dictionaries)
        of_population = population_fingerprint(session, source, fingerprint_key(session.ledger))
    report.phase(JobPhase.SEARCHING)
    solution = method.solve(job, counts)
    report.phase(JobPhase.WRITING)
    check_disclosure(session, solution.plan)
    evidence = Evidence(
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
    )
    return publish(job.database, session, solution.plan, evidence, verifying=lambda: report.phase(JobPhase.VERIFYING))


def method_of(policy: Policy) -> Method[Any]:
    """The method that a policy asks for."""
    if policy.record_level is not None:
        return RecordLevel(policy.record_level)
    if policy.microaggregation is not None:
        return Microaggregation(policy.microaggregation)
    if policy.local_recoding is not None:
        return LocalRecodingMethod(policy.local_recoding)
    return FullDomain()
