"""The check of a policy against its source: what a job would say, where that needs no search, or a short one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from tableveil.pipelines.advice import chosen_blindly
from tableveil.pipelines.anonymize import method_of
from tableveil.pipelines.full_domain import FullDomain, advice_of, plan_of, search_of
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.read import Counted, check_enough, count_classes, read_dictionaries, resolve_fully
from tableveil.pipelines.relaxing import MOST_SECONDS
from tableveil.policy import Policy, early_warnings
from tableveil.release import check_disclosure, write
from tableveil.release.disclosure import check_effective_k
from tableveil.state.jobs import JobPhase


def check_rows(job: JobContext, policy: Policy) -> tuple[str, ...]:
    """Raises the errors that `anonymize` would raise before it searches; returns the warnings known by then.

    Where nothing is left to search, columns that give away what the only labels hide are errors, too. Where sensitive
    values choose, a warning says what choosing without them would cost.
    """
    job.report.phase(JobPhase.READING)
    source, policy, hierarchies = resolve_fully(job.rows, policy, store=False)
    with job.rows.transaction():
        _, read = read_dictionaries(job.rows, source, policy, hierarchies, job.policy_of)
        policy = read.policy
        check_enough(policy, read)
        full_domain = isinstance(method_of(policy), FullDomain)
        foreseen = full_domain and (read.lattice.size == 1 or chosen_blindly(policy) is not None)
        counted = count_classes(job.rows, policy, read) if foreseen else None
    told = _foreseen(job, counted) if counted is not None else ()
    return (*early_warnings(policy), *read.warnings, *told)


def _foreseen(job: JobContext, counted: Counted) -> Iterator[str]:
    policy = counted.policy
    seconds = min(policy.search.time_limit_seconds or MOST_SECONDS, Decimal(MOST_SECONDS))
    limited = replace(policy, search=replace(policy.search, time_limit_seconds=Decimal(seconds)))
    problem, found = search_of(job, replace(counted, policy=limited))
    if found.best is None:
        return
    if counted.lattice.size == 1:
        plan = plan_of(counted, problem, found.best)
        check_disclosure(job.rows, plan)
        write.stage(job.rows, plan)
        yield from check_effective_k(job.rows, plan).warnings
    if found.complete:
        yield from advice_of(job, counted, problem, found.best).blindly()
