"""Columns that full-domain generalization erases, and how much of each local recoding would keep at least."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from tableveil.counting import combination_rows
from tableveil.errors import InfeasibleError, InvalidError
from tableveil.local_recoding import LARGEST_BY_CELL, specialize
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.local_recoding.problem import own_levels_of, partition_of, problem_of
from tableveil.pipelines.privacy import judging_models
from tableveil.pipelines.read import Counted
from tableveil.policy import Policy, SearchOptions, validate_policy
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.release.by_combination import ByCombination, check_one_meaning
from tableveil.search import Candidate, Problem

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
