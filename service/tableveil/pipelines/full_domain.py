"""Full-domain generalization: one transformation for all records, found by a search of the lattice."""

from collections.abc import Callable
from dataclasses import replace

from tableveil.aggregation.aggregates import aggregate, all_same
from tableveil.classes import ClassCounter, Effort
from tableveil.counting import BaseHistogram, open_counter
from tableveil.errors import InfeasibleError, Warned, by_rank
from tableveil.lifecycle import Solution
from tableveil.pipelines import together
from tableveil.pipelines.advice import Advice, checks_for, erased_columns, is_empty, says_nothing
from tableveil.pipelines.infeasible import Asked, nothing_valid, unprotected_values, values_unprotected
from tableveil.pipelines.local_recoding.problem import kept_locally
from tableveil.pipelines.people import people_risks, people_warnings
from tableveil.pipelines.privacy import (
    choosing_models,
    classes_before,
    facts_for,
    guarantees_of,
    judging_models,
    privacy_for,
    shown_pool,
)
from tableveil.pipelines.quality import quality_for
from tableveil.pipelines.read import Counted, Dictionaries, count_classes
from tableveil.pipelines.relaxing import chosen_by_all, problem_of, relaxed
from tableveil.pipelines.solution import Method
from tableveil.pipelines.work import JobContext
from tableveil.policy import JobPart, LossModel, Policy, PrivacyModel, SuppressedRecords, described, policy_warnings
from tableveil.privacy import ReleaseRule
from tableveil.quality import Loss
from tableveil.release import ReleasePlan
from tableveil.release.by_value import ByValue, by_value
from tableveil.search import Candidate, Problem, SearchOutcome, search, why_infeasible
from tableveil.search.explain import NeighbourhoodExplanation, explain
from tableveil.state.releases import Proof, RunnerUp, Searched

SHARE_FOR_EXPLAINING = 0.1
LEAST_SECONDS_FOR_EXPLAINING = 1.0
"""With a time limit, the explanation may take this share of it, but at least so long."""


class FullDomainMethod(Method[Counted]):
    """See `Method`."""

    def count(self, job: JobContext, policy: Policy, read: Dictionaries) -> Counted:
        """The combinations of values."""
        return count_classes(job.rows, policy, read)

    def solve(self, job: JobContext, counts: Counted) -> Solution:
        """The best transformation that the search finds."""
        problem, outcome = search_of(job, counts)
        best = outcome.best
        if best is None:
            raise _nothing_valid(job, problem, outcome, counts)
        _check_judged(job, problem, outcome, best, counts)
        proof = _proof(problem, outcome)
        explanation = _explain(job, problem, best, counts.policy)
        advised = _advised(job, counts, problem, best)
        plan = plan_of(counts, problem, best)
        facts, released = facts_for(plan.policy, counts.base, problem.counter), plan.classes.selected(plan.kept)
        before = classes_before(counts.base, problem.counter)
        reached = guarantees_of(counts.policy, counts.base, problem.counter, before, plan)
        parts, pool = plan.policy.parts, shown_pool(plan.policy, problem.counter, plan)
        joint = plan.earlier is not None
        # Without people or a pool, the sizes of classes tell the risks.
        risks = JobPart.PEOPLE in parts or pool is not None
        risk_before, risk_after = (
            people_risks(plan.policy, facts, before, released, pool, joint=joint) if risks else (None, None)
        )
        return Solution(
            plan=plan,
            score=best.score,
            parts=best.values,
            proof=proof,
            losses=_losses(counts.base, problem.counter, plan),
            quality_model=described(counts.policy.quality_model),
            chosen_by=choosing_models(counts.policy),
            explanation=explanation,
            sizes_before=counts.sizes_before,
            guarantees=reached,
            warnings=by_rank(
                (
                    *_warnings(plan, outcome, kept=job.control.keeps_best),
                    *(people_warnings(plan.policy, facts, released, pool) if JobPart.PEOPLE in parts else ()),
                    *advised,
                    *(together.account(job, counts, problem, best, plan) if JobPart.TOGETHER in parts else ()),
                )
            ),
            risk_before=risk_before,
            risk_after=risk_after,
        )


def chosen_plan(job: JobContext, counted: Counted) -> ReleasePlan:
    """The release that a job would make, without writing it.

    Raises:
        InfeasibleError: nothing meets the policy; there are no relaxations in it.
    """
    problem, outcome = search_of(job, counted)
    if outcome.best is None:
        raise InfeasibleError("INFEASIBLE", "no transformation that meets the policy was found")
    best = outcome.best
    if unprotected_values(counted.policy, problem, best, *_judging(problem, counted)):
        raise InfeasibleError("VALUES_UNPROTECTED", "the choice does not protect the sensitive values")
    return plan_of(counted, problem, best)


def search_of(job: JobContext, counted: Counted) -> tuple[Problem, SearchOutcome]:
    """The search for a policy on its counted source, and what it found."""
    policy, lattice = counted.policy, counted.lattice
    counter = open_counter(job.session, counted.base, lattice.bottom)
    suppressible = policy.suppressible(counter.records)
    quality = quality_for(policy, counted.base, counter, suppressible)
    privacy = privacy_for(choosing_models(policy), policy, counted.base, counter)
    keeps = policy.suppressed_records is SuppressedRecords.KEEP
    problem = Problem(lattice, counter, privacy, quality, suppressible, keeps)
    return problem, search(problem, policy.search, job.control, job.report.on_progress)


def _advised(job: JobContext, counted: Counted, problem: Problem, best: Candidate) -> tuple[Warned, ...]:
    """Warnings about erased columns; with a search for what would keep some of them, if the job asks for it."""
    erased = erased_columns(problem, best)
    if not (erased or job.advises):
        return ()
    locally = kept_locally(job, counted, problem, best, erased) if erased else {}
    advice = replace(advice_of(job, counted, problem, best), locally=locally)
    return tuple(advice.warnings() if job.advises else advice.erased())


def _nothing_valid(
    job: JobContext, problem: Problem, search_outcome: SearchOutcome, counted: Counted
) -> InfeasibleError:
    policy = counted.policy
    why = why_infeasible(problem)
    less = relaxed(job, policy, problem, counted.base, proven=search_outcome.complete)
    binding = together.binding_releases(counted, problem, why) if JobPart.TOGETHER in policy.parts else ()
    withheld, inherited = problem.counter.withheld, _inherited(counted)
    asked = Asked(policy, choosing_models(policy), inherited)
    return nothing_valid(asked, why, withheld, less, tuple(binding))


def _check_judged(
    job: JobContext, problem: Problem, search_outcome: SearchOutcome, best: Candidate, counted: Counted
) -> None:
    """Raises `InfeasibleError` if a model that took no part in choosing does not release the result."""
    policy = counted.policy
    if not judging_models(policy):
        return
    unmet = unprotected_values(policy, problem, best, *_judging(problem, counted), _inherited(counted))
    if unmet:
        by_all = chosen_by_all(job, policy, problem, counted.base)
        raise values_unprotected(policy, unmet, by_all, search_outcome.complete)


def _inherited(counted: Counted) -> tuple[PrivacyModel, ...]:
    """The models that joint classes meet for earlier releases' policies alone."""
    return () if counted.base.columns.earlier is None else counted.base.columns.earlier.inherited


def _judging(
    problem: Problem, counted: Counted
) -> tuple[tuple[PrivacyModel, ...], Callable[[PrivacyModel], ReleaseRule]]:
    """The models that take no part in choosing, and the rule of any model."""
    policy, base = counted.policy, counted.base
    return judging_models(policy), lambda model: privacy_for((model,), policy, base, problem.counter)


def _explain(job: JobContext, problem: Problem, best: Candidate, policy: Policy) -> NeighbourhoodExplanation:
    # A client that limits the search does not want to wait for its explanation instead.
    seconds = max(policy.search.seconds * SHARE_FOR_EXPLAINING, LEAST_SECONDS_FOR_EXPLAINING)
    if job.control.keeps_best:
        seconds = LEAST_SECONDS_FOR_EXPLAINING
    return explain(problem, best.transformation, job.control, seconds)


def advice_of(job: JobContext, counted: Counted, problem: Problem, best: Candidate) -> Advice:
    """Advice about a choice."""
    effort = Effort()
    others = problem_of(job.session, problem, counted.base, effort)
    return Advice(counted, problem, best, others, job.control.on(effort), checks_for(counted.base.histogram.rows))


def _losses(base: BaseHistogram, counter: ClassCounter, plan: ReleasePlan) -> tuple[float, ...]:
    """The loss of each quasi-identifier, which makes releases comparable for any quality model."""
    aggregated = [(i, dictionary.values) for i, dictionary in base.columns.aggregates]
    unweighted = [1.0] * (len(counter.levels) + len(aggregated))
    loss = Loss(LossModel(), counter.levels, unweighted, counter.marginals(), counter.withheld, aggregated)
    return loss.values(plan.transformation, plan.classes, plan.kept)


def _proof(problem: Problem, search_outcome: SearchOutcome) -> Proof:
    """The proof of the search, before anything else makes the counter count."""
    return Proof(
        optimal=search_outcome.complete,
        lower_bound=search_outcome.lower_bound,
        strategy=search_outcome.strategy,
        seconds=search_outcome.seconds,
        counter=problem.counter.name,
        counting=problem.counter.account,
        searched=Searched(
            lattice_size=str(search_outcome.lattice_size),
            checked=search_outcome.checked,
            counted=search_outcome.counted,
            pruned={reason: str(count) for reason, count in search_outcome.pruned.items()},
            runners_up=tuple(RunnerUp(c.transformation, c.score, c.suppressed) for c in search_outcome.runners_up),
            best_seconds=search_outcome.best_seconds,
        ),
    )


def plan_of(counted: Counted, problem: Problem, best: Candidate) -> ReleasePlan:
    """The release by a transformation."""
    columns, classes = counted.base.columns, problem.counter.classes(best.transformation)
    recoding = ByValue(best.transformation)
    if columns.aggregates:
        aggregates = ((of, aggregate(of.values, classes.values(i))) for i, of in columns.aggregates)
        recoding = by_value(best.transformation, tuple(aggregates))
    return ReleasePlan(
        policy=counted.policy,
        source=counted.source,
        dictionaries=counted.dictionaries,
        recoding=recoding,
        classes=classes,
        kept=problem.privacy.releasable(classes),
        records=problem.counter.records,
        sensitive=columns.sensitive,
        people=columns.people,
        earlier=columns.earlier,
    )


def _warnings(plan: ReleasePlan, search_outcome: SearchOutcome, *, kept: bool) -> tuple[Warned, ...]:
    """The end of the search comes first, if it did not end by itself; `kept` says that a request ended it."""
    warnings = list[Warned]()
    best = search_outcome.best
    if not search_outcome.complete and best is not None:
        by = "A request to keep the best" if kept else f"The {plan.policy.search.limit_in_words}"
        part = 100 * search_outcome.gap / best.score if best.score else 0.0
        text = (
            f"{by} ended the search at a score of {best.score:.6g}: one that is up to {part:.2g} % lower may "
            f"exist (proven bound {search_outcome.lower_bound:.6g})."
        )
        warnings.append(Warned(text, field="search.time_limit_seconds"))
    warnings += policy_warnings(plan.policy)
    if plan.kept_records == 0:
        warnings.append(is_empty(plan.records))
    else:
        warnings += [
            says_nothing(dictionary.attribute.column, "aggregate")
            for dictionary, aggregates in plan.recoding.aggregates
            if dictionary.distinct > 1 and all_same(aggregates, plan.kept)
        ]
    return tuple(warnings)
