"""Local recoding: every class of records has levels of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.control import Control, Progress, Stopped
from tableveil.counting import CombinationRows, combination_rows, open_counter
from tableveil.errors import Fault, InfeasibleError
from tableveil.game import Combinations
from tableveil.lattice import Transformation
from tableveil.local_recoding import (
    SUPPRESSED,
    LocalProblem,
    LocalProgress,
    LocalRecoding,
    label_costs,
    recode,
    released_classes,
)
from tableveil.pipelines.advice import says_nothing
from tableveil.pipelines.guarantees import classes_before
from tableveil.pipelines.infeasible import nothing_valid
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.own_levels import erased_columns, own_losses, plan_of
from tableveil.pipelines.privacy import choosing_models, facts_for, judging_models, privacy_for
from tableveil.pipelines.quality import quality_for
from tableveil.pipelines.read import Counted, Dictionaries, count_classes
from tableveil.pipelines.relaxing import relaxed
from tableveil.pipelines.solution import Solution
from tableveil.policy import (
    BALANCED,
    PRIVACY_FIELDS,
    Aggregate,
    EntropyModel,
    LossModel,
    Policy,
    PrecisionModel,
    SuppressedRecords,
    described,
    policy_warnings,
)
from tableveil.policy import LocalRecoding as LocalRecodingOptions
from tableveil.privacy import suppressed_pool, with_pool
from tableveil.privacy.guarantees import guarantees
from tableveil.quality.aggregate import Aggregation
from tableveil.release import ReleasePlan, check_one_meaning, mixed_levels
from tableveil.release.plan import OwnLevels
from tableveil.search import Problem, SearchOutcome, may_be_kept, search, why_infeasible
from tableveil.state.releases import Proof

SHARE_FOR_INCUMBENT = 0.2
MOST_SECONDS_FOR_INCUMBENT = 10.0
"""The time in which full-domain generalization is searched first: nothing worse than its result is released."""


@dataclass(frozen=True, slots=True)
class LocalRecodingMethod:
    """See `Method`."""

    options: LocalRecodingOptions

    def count(self, job: JobContext, policy: Policy, read: Dictionaries) -> Counted:
        """The combinations of values."""
        return count_classes(job.session, policy, read)

    def solve(self, job: JobContext, counts: Counted) -> Solution:
        """The cheapest partition that is found."""
        check_one_meaning(job.session, counts.policy, counts.dictionaries, counts.lattice, "local_recoding")
        started = job.control.now()
        counter = open_counter(job.session, counts.base, counts.lattice.bottom)
        rows = combination_rows(job.session, counts.base)
        problem = _problem(counts, counter, rows, self.options)
        limit = counts.policy.search.time_limit_seconds
        try:
            if limit is not None:
                job.control.limit(started + float(limit))
            found = _recoded(job, counts, counter, rows, problem)
        finally:
            job.control.limit(None)
        released = released_classes(problem, found)
        _check_judged(counts, counter, released)
        if _shows_suppressed(counts.policy) and counter.records > released.counts.sum():
            pool = suppressed_pool(counter, released, _all(released))
            _check_judged(counts, counter, pool)
            released = with_pool(released, pool)
        plan = plan_of(counts, _own_levels(rows.combinations, found))
        losses = own_losses(_own(plan), plan.records)
        score, scored = _score(counts.policy, problem, found, losses)
        return Solution(
            plan=plan,
            score=score,
            parts=(),
            proof=_proof(problem, found, score, job.control.now() - started, len(rows.combinations.records)),
            losses=losses,
            quality_model=scored,
            chosen_by=choosing_models(counts.policy),
            explanation=None,
            sizes_before=counts.sizes_before,
            guarantees=guarantees(
                facts_for(counts.policy, counts.base, counter),
                counts.policy.privacy_models,
                classes_before(counts.base, counter),
                released,
            ),
            warnings=tuple(_warnings(plan, problem, found)),
        )


def _problem(
    counts: Counted, counter: ClassCounter, rows: CombinationRows, options: LocalRecodingOptions
) -> LocalProblem:
    policy, combinations = counts.policy, rows.combinations
    columns = [attribute.column for attribute in policy.quasi_identifiers]
    costs = label_costs(
        policy.quality_model,
        combinations.levels,
        [attribute.weight for attribute in policy.quasi_identifiers],
        counter.marginals().counts,
        counter.withheld,
    )
    privacy = privacy_for(choosing_models(policy), policy, counts.base, counter)

    def may_show_others(classes: EquivalenceClasses) -> bool:
        return may_be_kept(privacy, counter, classes, _all(classes))

    return LocalProblem(
        levels=combinations.levels,
        codes=np.column_stack(combinations.codes),
        counts=combinations.records,
        costs=costs,
        lowest=counts.lattice.bottom,
        highest=counts.lattice.top,
        privacy=privacy,
        # Withheld records are suppressed in any case.
        suppressible=policy.suppressible(counter.records) - counter.withheld,
        sensitive=rows.sensitive,
        population=None if counts.base.population is None else combinations.people,
        most_levels={columns.index(column): most for column, most in options.most_levels},
        may_show_others=may_show_others if _shows_suppressed(policy) else None,
    )


def _shows_suppressed(policy: Policy) -> bool:
    return policy.suppressed_records is SuppressedRecords.KEEP


def _all(classes: EquivalenceClasses) -> NDArray[np.bool_]:
    return np.ones(len(classes.counts), np.bool_)


def _recoded(
    job: JobContext, counts: Counted, counter: ClassCounter, rows: CombinationRows, problem: LocalProblem
) -> LocalRecoding:
    """The best partition, at least as good as the best transformation that is found first.

    Raises:
        InfeasibleError: nothing meets the policy; the hints are those of full-domain generalization.
    """
    whole, found = _full_domain(job, counts, counter)
    incumbent = None if found.best is None else _partition(whole, found.best.transformation, rows.combinations)
    size = counts.lattice.size

    def progress(progress: LocalProgress) -> None:
        job.report.on_progress(Progress(found.checked, size, progress.best_score, progress.lower_bound, None))

    try:
        if problem.suppressible < 0:
            raise InfeasibleError("INFEASIBLE", "too many records are withheld")
        return recode(problem, job.control, incumbent, progress)
    except (InfeasibleError, Stopped):
        job.control.raise_if_cancelled()
        job.control.limit(None)
        less = relaxed(job, counts.policy, whole, counts.base, proven=found.complete)
        why = why_infeasible(whole)
        raise nothing_valid(counts.policy, choosing_models(counts.policy), why, counter.withheld, less) from None


def _full_domain(job: JobContext, counts: Counted, counter: ClassCounter) -> tuple[Problem, SearchOutcome]:
    """The best transformation by the minimized sum, within a part of the time."""
    policy, suppressible = counts.policy, counts.policy.suppressible(counter.records)
    model = policy.quality_model
    if isinstance(model, LossModel | PrecisionModel | EntropyModel) and model.aggregate is not Aggregate.SUM:
        model = replace(model, aggregate=Aggregate.ARITHMETIC_MEAN)
    if isinstance(model, EntropyModel):
        model = replace(model, factor=BALANCED)
    by_sum = replace(policy, quality_model=model)
    problem = Problem(
        counts.lattice,
        counter,
        privacy_for(choosing_models(policy), policy, counts.base, counter),
        quality_for(by_sum, counts.base, counter, suppressible),
        suppressible,
        _shows_suppressed(policy),
    )
    limit = policy.search.time_limit_seconds
    seconds = MOST_SECONDS_FOR_INCUMBENT
    if limit is not None:
        seconds = min(seconds, float(limit) * SHARE_FOR_INCUMBENT)
    # The control of the whole job has a later deadline, which the search would replace.
    part = _part(job.control, seconds)
    return problem, search(problem, policy.search, part, job.report.on_progress)


def _part(control: Control, seconds: float) -> Control:
    part = control.part(1.0)
    part.limit(control.now() + seconds)
    return part


def _partition(problem: Problem, transformation: Transformation, combinations: Combinations) -> NDArray[np.int64]:
    """The classes of a transformation, per combination."""
    classes = problem.counter.classes(transformation)
    kept = problem.privacy.releasable(classes)
    groups = [
        levels.groups[level][codes]
        for levels, level, codes in zip(combinations.levels, transformation, combinations.codes, strict=True)
    ]
    words = classes.layout.pack(groups)
    keys = np.column_stack([*classes.words]) if classes.words else np.zeros((len(classes.counts), 0), np.int64)
    place = {tuple(key): number for number, key in enumerate(keys.tolist())} if len(classes.words) > 1 else None
    if place is None:
        number = np.searchsorted(classes.words[0], words[0])
        number = np.minimum(number, len(classes.counts) - 1)
        inside = classes.words[0][number] == words[0]
    else:
        number = np.array([place.get(tuple(key), -1) for key in np.column_stack(words).tolist()], np.int64)
        inside = number >= 0
    return np.where(inside & kept[number], number, SUPPRESSED).astype(np.int64)


def _own_levels(combinations: Combinations, found: LocalRecoding) -> OwnLevels:
    transformations, index = np.unique(found.levels, axis=0, return_inverse=True)
    inside = found.classes != SUPPRESSED
    chosen = np.full(len(found.classes), SUPPRESSED)
    chosen[inside] = index.reshape(-1)[found.classes[inside]]
    return OwnLevels(combinations, tuple(tuple(map(int, levels)) for levels in transformations), chosen)


def _own(plan: ReleasePlan) -> OwnLevels:
    if plan.own_levels is None:
        raise ValueError("a locally recoded release has levels of its own")
    return plan.own_levels


def _check_judged(counts: Counted, counter: ClassCounter, released: EquivalenceClasses) -> None:
    """Raises `InfeasibleError` if a model that took no part in choosing does not release every class."""
    policy = counts.policy
    faults = []
    for model in judging_models(policy):
        failing = int(np.count_nonzero(~privacy_for((model,), policy, counts.base, counter).releasable(released)))
        if failing:
            i = policy.privacy_models.index(model)
            faults.append(
                Fault(
                    f"privacy_models[{i}].{PRIVACY_FIELDS[type(model)]}",
                    f"{failing:,} of {len(released.counts):,} classes that fail it",
                    "no class that fails it",
                    "With QUASI_IDENTIFIERS_ONLY one failing class is enough. Set search.choose to ALL_MODELS.",
                )
            )
    if faults:
        message = "the classes that were chosen by quasi-identifiers only do not protect the sensitive values"
        raise InfeasibleError("VALUES_UNPROTECTED", message, faults)


def _score(policy: Policy, problem: LocalProblem, found: LocalRecoding, losses: Sequence[float]) -> tuple[float, str]:
    """The score by the policy's own quality model where it can be computed, and what it measures."""
    model, surrogate = policy.quality_model, problem.costs.surrogate
    if surrogate is None:
        return found.score, described(model)
    if isinstance(model, LossModel) and model == LossModel(model.aggregate):
        weights = tuple(attribute.weight for attribute in policy.quasi_identifiers)
        aggregation = Aggregation(model.aggregate, weights)
        return aggregation.reported(aggregation.score(losses)), f"{described(model)}; minimized: arithmetic mean"
    return found.score, f"{described(model)}; scored by {surrogate}"


def _proof(problem: LocalProblem, found: LocalRecoding, score: float, seconds: float, combinations: int) -> Proof:
    """A bound holds for the minimized sum; for another aggregate nothing is proven."""
    bound = 0.0 if found.lower_bound is None or problem.costs.surrogate is not None else found.lower_bound
    return Proof(
        optimal=problem.costs.surrogate is None and found.gap == 0,
        lower_bound=min(bound, score),
        strategy=f"local recoding: {found.account}",
        seconds=seconds,
        counter="numpy",
        counting=f"all {combinations:,} combinations in numpy",
        searched=None,
    )


def _warnings(plan: ReleasePlan, problem: LocalProblem, found: LocalRecoding) -> Iterator[str]:
    yield from policy_warnings(plan.policy)
    yield from mixed_levels(plan)
    if plan.kept_records == 0:
        yield "All records are suppressed: the release is empty."
    else:
        yield from map(says_nothing, erased_columns(plan, _own(plan)))
    if not found.complete:
        yield "The time limit ended the improvement of the classes: a longer search may lose less."
    if problem.costs.surrogate is not None:
        yield f"The quality model is no sum over records: minimized was {problem.costs.surrogate}."
