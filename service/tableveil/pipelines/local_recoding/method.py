"""Local recoding: every class of records has levels of its own."""

from collections.abc import Iterator
from dataclasses import replace

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.control import Progress, Stopped
from tableveil.counting import CombinationRows, combination_rows, open_counter
from tableveil.errors import Fault, InfeasibleError, Warned, by_rank, note
from tableveil.lifecycle import Solution
from tableveil.local_recoding import (
    LocalPartition,
    LocalProblem,
    LocalProgress,
    parts,
    recode,
    released_classes,
    reuse,
    settle,
)
from tableveil.pipelines.advice import is_empty, says_nothing
from tableveil.pipelines.infeasible import Asked, Chosen, nothing_valid, refusing, values_unprotected
from tableveil.pipelines.local_recoding.frontier import LocalSource, PartitionFrontier, alternatives
from tableveil.pipelines.local_recoding.known_classes import known_classes
from tableveil.pipelines.local_recoding.problem import (
    all_of,
    by_sum,
    own_levels_of,
    partition_of,
    penalties,
    problem_of,
    score_of,
    seconds_for_incumbent,
    shows_suppressed,
)
from tableveil.pipelines.own_levels import erased_columns, own_losses, plan_of
from tableveil.pipelines.people import people_risks, people_warnings
from tableveil.pipelines.privacy import choosing_models, classes_before, facts_for, judging_models, privacy_for
from tableveil.pipelines.quality import quality_for
from tableveil.pipelines.read import Counted, Dictionaries, count_classes
from tableveil.pipelines.relaxing import chosen_by_all, relaxed
from tableveil.pipelines.solution import Method
from tableveil.pipelines.work import FoundPartition, JobContext
from tableveil.policy import ClassificationModel, Policy, PrivacyModel, SensitiveModel, policy_warnings
from tableveil.privacy import ReleaseRule, suppressed_pool, with_pool
from tableveil.privacy.guarantees import guarantees
from tableveil.release import ReleasePlan, check_one_meaning, mixed_levels
from tableveil.release.by_combination import ByCombination
from tableveil.search import Problem, SearchOutcome, search, why_infeasible
from tableveil.state.release_explanations import CostPart
from tableveil.state.releases import Proof


class LocalRecodingMethod(Method[Counted]):
    """See `Method`."""

    frontier = PartitionFrontier()

    def count(self, job: JobContext, policy: Policy, read: Dictionaries) -> Counted:
        """The combinations of values."""
        return count_classes(job.rows, policy, read)

    def solve(self, job: JobContext, counts: Counted) -> Solution:
        """The cheapest partition that is found."""
        check_one_meaning(job.session, counts.policy, counts.dictionaries, counts.lattice)
        started = job.control.now()
        counter = open_counter(job.session, counts.base, counts.lattice.bottom)
        rows = combination_rows(job.session, counts.base)
        problem = problem_of(counts.policy, counts, counter, rows)
        whole = _whole(counts, counter)
        with job.control.searching(started + counts.policy.search.seconds):
            partition = _found(job, counts, whole, rows, problem)
        facts = facts_for(counts.policy, counts.base, counter)
        released = released_classes(problem, partition)
        pool = None
        if shows_suppressed(counts.policy) and counter.records > released.counts.sum():
            pool = suppressed_pool(counter, released, all_of(released))
        before = classes_before(counts.base, counter)
        risk_before, risk_after = people_risks(counts.policy, facts, before, released, pool)
        ended = _ended(job, counts.policy, partition)
        _check_judged(job, counts, whole, partition, released, pool)
        shown = released if pool is None else with_pool(released, pool)
        reached = guarantees(facts, counts.policy.privacy_models, before, shown)
        own = own_levels_of(rows.combinations, partition)
        plan = plan_of(counts, own)
        losses = own_losses(own, plan.records)
        score, scored = score_of(counts, counter, problem, partition, losses)
        return Solution(
            plan=plan,
            score=score,
            parts=(),
            proof=_proof(
                problem,
                replace(partition, account=partition.account + ended),
                score,
                job.control.now() - started,
                len(rows.combinations.records),
            ),
            losses=losses,
            quality_model=scored,
            chosen_by=choosing_models(counts.policy),
            explanation=None,
            sizes_before=counts.sizes_before,
            guarantees=reached,
            warnings=by_rank(
                (
                    *_warnings(plan, own, problem, partition, ended),
                    *people_warnings(counts.policy, facts, released, pool),
                )
            ),
            risk_before=risk_before,
            risk_after=risk_after,
            costs=tuple(_costs(plan, problem, partition)),
            alternatives=tuple(alternatives(job, LocalSource(counts, counter, rows), partition)) if job.advises else (),
        )


def _found(
    job: JobContext, counts: Counted, whole: Problem, rows: CombinationRows, problem: LocalProblem
) -> LocalPartition:
    """The partition to release: of the classes of an earlier release, or the best that is found.

    Raises:
        InfeasibleError: nothing meets the policy; the hints are those of full-domain generalization.
    """
    policy = counts.policy
    number = policy.classes_of
    if number is None:
        return _recoded(job, counts, whole, rows, problem)
    classes_used, known_in_all = known_classes(job.session, policy, counts.dictionaries, counts.lattice, number)
    try:
        reused = reuse(problem, classes_used, job.control)
    except InfeasibleError:
        raise _infeasible(job, counts, whole, proven=False) from None
    account = (
        f"{reused.classes:,} of {known_in_all:,} classes of releases/{number} have {reused.records:,} records; "
        f"{len(reused.recoding.levels) - reused.classes:,} other classes have the rest of those released"
    )
    if problem.costs.surrogate is not None:
        account += f"; minimized was {problem.costs.surrogate}"
    return replace(reused.recoding, account=account)


def _recoded(
    job: JobContext, counts: Counted, whole: Problem, rows: CombinationRows, problem: LocalProblem
) -> LocalPartition:
    """The best partition, at least as good as the best transformation that is found first.

    Raises:
        InfeasibleError: nothing meets the policy; the hints are those of full-domain generalization.
    """
    read_incumbent = _full_domain(job, counts.policy, whole)
    incumbent = None
    if read_incumbent.best is not None:
        incumbent = partition_of(whole.privacy, whole.counter, read_incumbent.best.transformation, rows.combinations)
    others = [partition.of(problem.codes) for partition in job.partitions or ()]
    incumbents = [classes for classes in (incumbent, *others) if classes is not None]
    size = counts.lattice.size

    def progress(progress: LocalProgress) -> None:
        bound = progress.lower_bound if problem.costs.surrogate is None else None
        job.report.on_progress(Progress(read_incumbent.checked, size, progress.best_score, bound, None))

    try:
        if problem.suppressible < 0:
            raise InfeasibleError("INFEASIBLE", "too many records are withheld")
        # Policies are compared by their scores: to look for bounds takes more than half of the time.
        best = recode(problem, job.control, incumbents, progress, bounded=job.partitions is None)
    except (InfeasibleError, Stopped):
        job.control.raise_if_cancelled()
        raise _infeasible(job, counts, whole, proven=read_incumbent.complete) from None
    if job.partitions is not None:
        job.partitions.append(FoundPartition(problem.codes, best.classes))
    model = counts.policy.quality_model
    if isinstance(model, ClassificationModel) and incumbent is not None:
        settled = settle(problem, job.control, incumbent)
        settled = replace(
            settled, account="the classes of the best transformation, which score better than others found"
        )
        best = min(best, settled, key=lambda one: penalties(model, counts, whole.counter, problem, one))
    return best


def _infeasible(job: JobContext, counts: Counted, whole: Problem, *, proven: bool) -> InfeasibleError:
    job.control.limit(None)
    policy, withheld = counts.policy, whole.counter.withheld
    less = relaxed(job, policy, whole, counts.base, proven=proven)
    asked, together = Asked(policy, choosing_models(policy)), tuple(_stay_together(policy))
    return nothing_valid(asked, why_infeasible(whole), withheld, less, together)


def _stay_together(policy: Policy) -> Iterator[Fault]:
    """Some records of a combination could be a class or be suppressed without the others: nobody looked for that."""
    if any(isinstance(model, SensitiveModel) for model in policy.privacy_models):
        yield Fault(
            "local_recoding",
            "records with equal values, which are in one class or all suppressed",
            "classes and suppressed records that meet the policy",
            "Some of them might be released without the others. Local recoding does not look for that: remove records "
            "of rare or frequent sensitive values by a source_query, and try again.",
        )


def _full_domain(job: JobContext, policy: Policy, whole: Problem) -> SearchOutcome:
    """The best transformation, within a part of the time."""
    # The control of the whole job has a later deadline, which the search would replace.
    part = job.control.part(1.0)
    part.limit(part.now() + seconds_for_incumbent(policy))
    # No bound of transformations bounds recodings.
    return search(whole, policy.search, part, lambda one: job.report.on_progress(replace(one, lower_bound=None)))


def _whole(counts: Counted, counter: ClassCounter) -> Problem:
    """The problem of full-domain generalization: by the minimized sum, or by classification."""
    policy, suppressible = counts.policy, counts.policy.suppressible(counter.records)
    searched = policy if isinstance(policy.quality_model, ClassificationModel) else by_sum(policy)
    return Problem(
        counts.lattice,
        counter,
        privacy_for(choosing_models(policy), policy, counts.base, counter),
        quality_for(searched, counts.base, counter, suppressible),
        suppressible,
        shows_suppressed(policy),
    )


def _check_judged(
    job: JobContext,
    counts: Counted,
    whole: Problem,
    local_partition: LocalPartition,
    released: EquivalenceClasses,
    pool: EquivalenceClasses | None,
) -> None:
    """Raises `InfeasibleError` if a model that took no part in choosing does not release all that is shown."""
    policy, counter = counts.policy, whole.counter

    def rule_of(model: PrivacyModel) -> ReleaseRule:
        return privacy_for((model,), policy, counts.base, counter)

    unmet = refusing(policy, Chosen(released, pool, counter.records), judging_models(policy), rule_of)
    if unmet:
        # A transformation is valid here, too; that there is none proves nothing.
        by_all = replace(chosen_by_all(job, policy, whole, counts.base), proven=False)
        raise values_unprotected(policy, unmet, by_all, local_partition.complete)


def _proof(
    problem: LocalProblem, local_partition: LocalPartition, score: float, seconds: float, combinations: int
) -> Proof:
    """A bound holds for the minimized sum; for another aggregate nothing is proven."""
    bound = (
        0.0
        if local_partition.lower_bound is None or problem.costs.surrogate is not None
        else local_partition.lower_bound
    )
    return Proof(
        optimal=problem.costs.surrogate is None and local_partition.gap == 0,
        lower_bound=min(bound, score),
        strategy=f"local recoding: {local_partition.account}",
        seconds=seconds,
        counter="numpy",
        counting=f"all {combinations:,} combinations in numpy",
        searched=None,
    )


def _costs(plan: ReleasePlan, problem: LocalProblem, local_partition: LocalPartition) -> Iterator[CostPart]:
    columns = [dictionary.attribute.column for dictionary in plan.dictionaries]
    for part in parts(problem, local_partition):
        label = None
        if part.column is not None and part.label is not None:
            level, group = part.label
            label = problem.levels[part.column].labels[level - 1][group]
        if part.label is None or label is not None:
            yield CostPart("" if part.column is None else columns[part.column], label, part.records, part.share)


def _ended(job: JobContext, policy: Policy, local_partition: LocalPartition) -> str:
    """How the search ended before nothing improved its result, as the end of a sentence; empty if it did not."""
    if local_partition.complete:
        return ""
    if job.control.keeps_best:
        return ", ended by a request to keep the best"
    return f", ended by the {policy.search.limit_in_words}"


def _warnings(
    plan: ReleasePlan, own: ByCombination, problem: LocalProblem, local_partition: LocalPartition, ended: str
) -> Iterator[Warned]:
    if local_partition.gaining:
        text = f"The classes still improved when the search was{ended.removeprefix(',')}: a longer one may lose less."
        yield Warned(text, field="search.time_limit_seconds")
    yield from policy_warnings(plan.policy)
    yield from mixed_levels(plan)
    if plan.kept_records == 0:
        yield is_empty(plan.records)
    else:
        yield from map(says_nothing, erased_columns(plan, own))
    if problem.costs.surrogate is not None:
        text = f"The quality_model is no sum over records: minimized was {problem.costs.surrogate}."
        yield note(text, field="quality_model")
