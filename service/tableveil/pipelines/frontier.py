"""One job from policy to frontier: read, count, search every k and limit at once, store the result."""

import json
from dataclasses import replace

from tableveil.counting import open_counter
from tableveil.errors import InvalidError
from tableveil.pipelines.anonymize import method_of
from tableveil.pipelines.privacy import privacy_for
from tableveil.pipelines.quality import quality_for
from tableveil.pipelines.read import check_enough, count_classes, dictionaries_of, hierarchies_of
from tableveil.pipelines.work import JobContext, Work, policy_work, store_result
from tableveil.policy import Policy, SuppressedRecords
from tableveil.requests.frontier import FrontierGrid, with_k
from tableveil.search.frontier import FrontierProblem
from tableveil.source import fingerprint, resolve_source
from tableveil.state import frontiers, jobs
from tableveil.state.frontiers import FRONTIERS
from tableveil.state.jobs import JobKind, JobPhase
from tableveil.state.migrate import fingerprint_key


def run_frontier(job: JobContext, policy: Policy, grid: FrontierGrid) -> int:
    """Stores a frontier and returns its number.

    Raises:
        TableveilError: nothing was stored.
    """
    session, report = job.rows, job.report
    report.phase(JobPhase.READING)
    # More of the grid may be out of reach, but if the least k is, all of it is.
    source, policy, faults = resolve_source(session, with_k(policy, grid.ks[0]))
    if source is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the table", faults)
    hierarchies = hierarchies_of(session, policy)
    # One transaction, so that all reads see one state of the rows.
    with session.reading():
        mark = fingerprint(session, source, fingerprint_key(session.ledger))
        read = dictionaries_of(session, source, policy, hierarchies)
        check_enough(policy, read)
        report.phase(JobPhase.COUNTING)
        counts = count_classes(session, policy, read)
    method = method_of(policy).frontier
    method.check(session.embedded, counts)
    report.phase(JobPhase.SEARCHING)
    started, base = job.control.now(), counts.base
    counter = open_counter(session.embedded, base, counts.lattice.bottom)
    suppressible = tuple(
        replace(policy, suppression_limit=limit).suppressible(counter.records) for limit in grid.suppression_limits
    )
    problem = FrontierProblem(
        lattice=counts.lattice,
        counter=counter,
        quality=quality_for(method.searched(policy), base, counter, suppressible[-1]),
        rules=tuple(privacy_for(with_k(policy, k).privacy_models, policy, base, counter) for k in grid.ks),
        suppressible=suppressible,
        keeps_suppressed=policy.suppressed_records is SuppressedRecords.KEEP,
    )
    front, points = method.points(job, grid, counts, problem)

    def result(number: int) -> frontiers.Frontier:
        return frontiers.Frontier(
            number=number,
            job=job.number,
            created_at=jobs.now(),
            source=session.recorded(source.reference),
            source_fingerprint=mark,
            records=counter.records,
            quasi_identifiers=tuple(attribute.column for attribute in policy.quasi_identifiers),
            lattice_size=str(front.lattice_size),
            checked=front.checked,
            counter=counter.name,
            search_seconds=job.control.now() - started,
            seconds=report.elapsed(),
            policy=job.document,
            points=points,
        )

    return store_result(job, FRONTIERS, result)


def frontier_work(policy: Policy, grid: FrontierGrid, document: str) -> Work:
    """The work for a frontier."""
    limits = [f"{limit:f}" for limit in grid.suppression_limits]
    options = json.dumps({"k": grid.ks, "suppression_limits": limits}, separators=(",", ":"))
    work = policy_work(JobKind.FRONTIER, policy, document, lambda job: run_frontier(job, policy, grid), options)
    return replace(work, partial=True)
