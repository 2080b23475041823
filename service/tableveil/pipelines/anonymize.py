"""One job from policy to release: read, count, search, write, each by the layer that knows how."""

from __future__ import annotations

from collections.abc import Callable

from tableveil.aggregation.aggregates import aggregate, all_same
from tableveil.backend import Database, Session
from tableveil.classes import ClassCounter
from tableveil.counting import BaseHistogram, open_counter
from tableveil.errors import InfeasibleError
from tableveil.pipelines.advice import Advice, says_nothing
from tableveil.pipelines.guarantees import guarantees_of
from tableveil.pipelines.infeasible import nothing_valid, unprotected_values, values_unprotected
from tableveil.pipelines.microaggregation import run_microaggregation
from tableveil.pipelines.privacy import choosing_models, judging_models, privacy_for
from tableveil.pipelines.quality import quality_for
from tableveil.pipelines.read import Counted, count
from tableveil.pipelines.record_level import run_record_level
from tableveil.pipelines.relaxing import chosen_by_all, problem_of, relaxed, seconds_for
from tableveil.pipelines.report import Report
from tableveil.policy import LossModel, Policy, PrivacyModel, SuppressedRecords, described, policy_warnings
from tableveil.privacy import ReleaseRule
from tableveil.quality import Loss
from tableveil.release import Evidence, ReleasePlan, check_disclosure, publish
from tableveil.release.plan import Aggregated
from tableveil.search import Candidate, Problem, SearchOutcome, search, why_infeasible
from tableveil.search.explain import Explanation, explain
from tableveil.state.jobs import JobPhase

SHARE_FOR_EXPLAINING = 0.1
LEAST_SECONDS_FOR_EXPLAINING = 1.0
"""With a time limit, the explanation may take this share of it, but at least so long."""


def run_job(database: Database, session: Session, job: int, policy: Policy, document: str, report: Report) -> int:
    """Runs a job on a session of its own and returns the number of the release it wrote.

    Raises:
        TableveilError: nothing was written.
    """
    if policy.record_level is not None:
        return run_record_level(database, session, job, policy, document, report)
    if policy.microaggregation is not None:
        return run_microaggregation(database, session, job, policy, document, report)
    counted = count(session, policy, report)
    problem, found = _search(session, counted, report)
    if found.best is None:
        raise _nothing_valid(session, problem, found, counted)
    best = _judged(session, problem, found, counted)
    counting = problem.counter.account
    explanation = _explain(session, problem, best, policy)
    advice = _advice(session, counted, problem, best)
    report.phase(JobPhase.WRITING)
    plan = _plan(counted, problem, best)
    check_disclosure(session, plan)
    evidence = Evidence(
        job=job,
        document=document,
        fingerprint=counted.fingerprint,
        population_fingerprint=counted.population_fingerprint,
        search=found,
        best=best,
        losses=_losses(counted.base, problem.counter, plan),
        quality_model=described(policy.quality_model),
        chosen_by=choosing_models(policy),
        explanation=explanation,
        counter=problem.counter.name,
        counting=counting,
        sizes_before=counted.sizes_before,
        warnings=(*_warnings(plan, found), *advice),
        elapsed=report.elapsed,
        phases=report.seconds,
        guarantees=guarantees_of(counted.policy, counted.base, problem.counter, plan),
    )
    return publish(database, session, plan, evidence, verifying=lambda: report.phase(JobPhase.VERIFYING))


def chosen_plan(session: Session, counted: Counted, report: Report) -> ReleasePlan:
    """What a job would release, without writing it.

    Raises:
        InfeasibleError: nothing meets the policy; what would is not looked for.
    """
    problem, found = _search(session, counted, report)
    if found.best is None:
        raise InfeasibleError("INFEASIBLE", "no transformation that meets the policy was found")
    best = found.best
    if unprotected_values(counted.policy, problem, best, *_judging(problem, counted)):
        raise InfeasibleError("VALUES_UNPROTECTED", "what was chosen does not protect the sensitive values")
    return _plan(counted, problem, best)


def _search(session: Session, counted: Counted, report: Report) -> tuple[Problem, SearchOutcome]:
    report.phase(JobPhase.SEARCHING)
    policy, lattice = counted.policy, counted.lattice
    counter = open_counter(session, counted.base, lattice.bottom)
    suppressible = policy.suppressible(counter.records)
    quality = quality_for(policy, counted.base, counter, suppressible)
    privacy = privacy_for(choosing_models(policy), policy, counted.base, counter)
    keeps = policy.suppressed_records is SuppressedRecords.KEEP
    problem = Problem(lattice, counter, privacy, quality, suppressible, keeps)
    assert session.control is not None
    return problem, search(problem, policy.search, session.control, report.on_progress)


def _nothing_valid(session: Session, problem: Problem, found: SearchOutcome, counted: Counted) -> InfeasibleError:
    policy = counted.policy
    why = why_infeasible(problem)
    less = relaxed(session, policy, problem, counted.base, proven=found.complete)
    return nothing_valid(policy, choosing_models(policy), why, problem.counter.withheld, less)


def _judged(session: Session, problem: Problem, found: SearchOutcome, counted: Counted) -> Candidate:
    """What was found, if the models that took no part in choosing it release it too."""
    policy, best = counted.policy, found.best
    assert best is not None
    assert session.control is not None
    unmet = unprotected_values(policy, problem, best, *_judging(problem, counted))
    if unmet:
        by_all = chosen_by_all(session, policy, problem, counted.base)
        raise values_unprotected(policy, unmet, by_all, found.complete)
    return best


def _judging(
    problem: Problem, counted: Counted
) -> tuple[tuple[PrivacyModel, ...], Callable[[PrivacyModel], ReleaseRule]]:
    """The models that take no part in choosing, and the rule of any model."""
    policy, base = counted.policy, counted.base
    return judging_models(policy), lambda model: privacy_for((model,), policy, base, problem.counter)


def _explain(session: Session, problem: Problem, best: Candidate, policy: Policy) -> Explanation:
    assert session.control is not None
    limit = policy.search.time_limit_seconds
    # Whoever limits the search does not want to wait for its explanation instead.
    seconds = None if limit is None else max(float(limit) * SHARE_FOR_EXPLAINING, LEAST_SECONDS_FOR_EXPLAINING)
    return explain(problem, best.transformation, session.control, seconds)


def _advice(session: Session, counted: Counted, problem: Problem, best: Candidate) -> tuple[str, ...]:
    assert session.control is not None
    others = problem_of(session, problem, counted.base)
    return tuple(Advice(counted, problem, best, others, session.control, seconds_for(counted.policy)).warnings())


def _losses(base: BaseHistogram, counter: ClassCounter, plan: ReleasePlan) -> tuple[float, ...]:
    """The loss of each quasi-identifier, by which releases can be compared whatever they were optimized for."""
    aggregated = base.aggregated_columns
    unweighted = [1.0] * (len(counter.levels) + len(aggregated))
    loss = Loss(LossModel(), counter.levels, unweighted, counter.marginals(), counter.withheld, aggregated)
    return loss.values(plan.transformation, plan.classes, plan.kept)


def _plan(counted: Counted, problem: Problem, best: Candidate) -> ReleasePlan:
    base, classes = counted.base, problem.counter.classes(best.transformation)
    aggregates = (aggregate(column, classes.values(position)) for position, column in base.aggregated_columns)
    return ReleasePlan(
        policy=counted.policy,
        source=counted.source,
        dictionaries=counted.dictionaries,
        transformation=best.transformation,
        classes=classes,
        kept=problem.privacy.releasable(classes),
        records=problem.counter.records,
        sensitive=base.sensitive,
        aggregated=Aggregated(base.aggregated, tuple(aggregates)) if base.aggregated else None,
    )


def _warnings(plan: ReleasePlan, found: SearchOutcome) -> tuple[str, ...]:
    warnings = list(policy_warnings(plan.policy))
    if plan.kept_records == 0:
        warnings.append("All records are suppressed: the release is empty.")
    elif plan.aggregated is not None:
        warnings += [
            says_nothing(dictionary.attribute.column, "aggregate")
            for dictionary, aggregates in zip(plan.aggregated.dictionaries, plan.aggregated.aggregates, strict=True)
            if dictionary.distinct > 1 and all_same(aggregates, plan.kept)
        ]
    if not found.complete:
        warnings.append(
            "The time limit ended the search: a transformation whose score is up to "
            f"{found.gap:.6g} lower may exist (proven bound {found.lower_bound:.6g})."
        )
    return tuple(warnings)
