"""Local recoding of a counted source: the problem that a policy poses, the worth of a partition, and what it keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.counting import CombinationRows, combination_rows
from tableveil.errors import InfeasibleError, InvalidError
from tableveil.game import Combinations
from tableveil.lattice import Transformation
from tableveil.local_recoding import (
    LARGEST_BY_CELL,
    SUPPRESSED,
    LocalPartition,
    LocalProblem,
    label_costs,
    labels_of,
    released_classes,
    specialize,
)
from tableveil.pipelines.privacy import choosing_models, judging_models, privacy_for
from tableveil.pipelines.quality import features_of
from tableveil.pipelines.read import Counted
from tableveil.pipelines.work import JobContext
from tableveil.policy import (
    BALANCED,
    Aggregate,
    ClassificationModel,
    EntropyModel,
    LossModel,
    Policy,
    PrecisionModel,
    SearchOptions,
    SuppressedRecords,
    described,
    validate_policy,
)
from tableveil.policy.methods.local_recoding import LOCAL_RECODING, LocalRecoding
from tableveil.privacy import ReleaseRule
from tableveil.quality import ClassificationQuality
from tableveil.quality.model import WeightedAggregate
from tableveil.release.by_combination import ByCombination, check_one_meaning
from tableveil.search import Candidate, Problem, may_be_kept

SHARE_FOR_INCUMBENT = 0.2
MOST_SECONDS_FOR_INCUMBENT = 10.0


def seconds_for_incumbent(policy: Policy) -> float:
    """The time in which transformations are searched first: nothing worse than the best of them is returned."""
    return min(policy.search.seconds * SHARE_FOR_INCUMBENT, MOST_SECONDS_FOR_INCUMBENT)


def problem_of(policy: Policy, counts: Counted, counter: ClassCounter, rows: CombinationRows) -> LocalProblem:
    """The problem of a policy that differs from the counted one in its models and its suppression limit only."""
    combinations, options = rows.combinations, LOCAL_RECODING.options(policy)
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
        return may_be_kept(privacy, counter, classes, all_of(classes))

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
        may_show_others=may_show_others if shows_suppressed(policy) else None,
    )


def shows_suppressed(policy: Policy) -> bool:
    """Whether suppressed records are released without labels."""
    return policy.suppressed_records is SuppressedRecords.KEEP


def all_of(classes: EquivalenceClasses) -> NDArray[np.bool_]:
    """The mask of all classes."""
    return np.ones(len(classes.counts), np.bool_)


def partition_of(
    privacy: ReleaseRule, counter: ClassCounter, transformation: Transformation, combinations: Combinations
) -> NDArray[np.int64]:
    """The classes of a transformation, per combination."""
    classes = counter.classes(transformation)
    kept = privacy.releasable(classes)
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


def own_levels_of(combinations: Combinations, local_partition: LocalPartition) -> ByCombination:
    """The levels of every combination."""
    transformations, index = np.unique(local_partition.levels, axis=0, return_inverse=True)
    inside = local_partition.classes != SUPPRESSED
    chosen = np.full(len(local_partition.classes), SUPPRESSED)
    chosen[inside] = index.reshape(-1)[local_partition.classes[inside]]
    return ByCombination(combinations, tuple(tuple(map(int, levels)) for levels in transformations), chosen)


def by_sum(policy: Policy) -> Policy:
    """The policy with the sum that local recoding minimizes, as a quality model of transformations."""
    model = policy.quality_model
    if isinstance(model, ClassificationModel):
        model = LossModel(Aggregate.ARITHMETIC_MEAN)
    if isinstance(model, LossModel | PrecisionModel | EntropyModel) and model.aggregate is not Aggregate.SUM:
        model = replace(model, aggregate=Aggregate.ARITHMETIC_MEAN)
    if isinstance(model, EntropyModel):
        model = replace(model, factor=BALANCED)
    return replace(policy, quality_model=model)


def score_of(
    counts: Counted,
    counter: ClassCounter,
    problem: LocalProblem,
    local_partition: LocalPartition,
    losses: Sequence[float],
) -> tuple[float, str]:
    """The score by the policy's own quality model where it can be computed, and what it measures."""
    policy = counts.policy
    model, surrogate = policy.quality_model, problem.costs.surrogate
    if surrogate is None:
        return local_partition.score, described(model)
    if isinstance(model, ClassificationModel):
        score = penalties(model, counts, counter, problem, local_partition)
        return score, f"{described(model)}; minimized: arithmetic mean of loss"
    if isinstance(model, LossModel) and model == LossModel(model.aggregate):
        weights = tuple(attribute.weight for attribute in policy.quasi_identifiers)
        aggregation = WeightedAggregate(model.aggregate, weights)
        return aggregation.reported(aggregation.score(losses)), f"{described(model)}; minimized: arithmetic mean"
    return local_partition.score, f"{described(model)}; scored by {surrogate}"


def penalties(
    model: ClassificationModel,
    counts: Counted,
    counter: ClassCounter,
    problem: LocalProblem,
    local_partition: LocalPartition,
) -> float:
    """The score of a partition by classification, which is no sum over records: all records of a class vote."""
    features = features_of(counts.policy, counts.base)
    assert features is not None, "the policy asks for classification"
    of_features = labels_of(problem, local_partition)[:, list(features.attributes)].reshape(
        len(local_partition.levels), -1
    )
    # Without a quasi-identifier among the features, all classes have the same labels.
    labels = np.column_stack([np.zeros(len(of_features), np.int64), of_features])
    groups = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)
    scored = ClassificationQuality(model, counter, features, problem.suppressible)
    return scored.share(released_classes(problem, local_partition), groups)


MOST_SORTED = 3_000_000
"""The combinations that are sorted for it in all: a bound of work, so that equal jobs say the same."""


def kept_locally(
    job: JobContext, counted: Counted, problem: Problem, best: Candidate, erased: Sequence[int]
) -> Mapping[int, str]:
    """A sentence for each of the erased columns, by position, of which local recoding would keep something.

    The classes of the chosen transformation are split top down: a search for local recoding would keep more.

    Raises:
        CancelledError: the job was cancelled.
    """
    if not erased or counted.base.combinations > LARGEST_BY_CELL:
        return {}
    policy = _locally(counted.policy)
    if policy is None:
        return {}
    try:
        check_one_meaning(job.session, policy, counted.dictionaries, counted.lattice)
    except InvalidError:
        return {}
    rows = combination_rows(job.session, counted.base)
    local = problem_of(policy, counted, problem.counter, rows)
    classes = partition_of(problem.privacy, problem.counter, best.transformation, rows.combinations)
    ticks = count()
    # Each tick is one column of all combinations that are still split.
    control = job.control.on(lambda: float(next(ticks)))
    control.limit(MOST_SORTED / max(len(rows.combinations.records), 1))
    try:
        split = own_levels_of(rows.combinations, specialize(local, control, classes))
    except InfeasibleError:
        return {}
    sentences = {position: _kept(split, position, best.transformation[position]) for position in erased}
    return {position: sentence for position, sentence in sentences.items() if sentence}


def _locally(policy: Policy) -> Policy | None:
    """The policy with local recoding in place of one transformation; None if it would be another policy otherwise."""
    search = SearchOptions(choose=policy.search.choose, time_limit_seconds=policy.search.time_limit_seconds)
    local = replace(policy, methods=(LocalRecoding(),), search=search)
    return None if judging_models(policy) or validate_policy(local) else local


def _kept(split: ByCombination, position: int, erased_at: int) -> str:
    """How many labels of a column below its erased level are left, and in how many of the released records."""
    levels, codes = split.combinations.levels[position], split.combinations.codes[position]
    chosen, records = split.levels(position), split.combinations.records
    labels = finer = 0
    for level in range(erased_at):
        inside = split.kept & (chosen == level) & (records > 0)
        labels += len(np.unique(levels.groups[level][codes[inside]]))
        finer += int(records[inside].sum())
    if not labels:
        return ""
    share = finer / int(records[split.kept].sum())
    many = "a label" if labels == 1 else f"{labels:,} labels"
    return f"Local recoding (local_recoding) would keep {many} of it, in {share:.0%} of the released records at least."
