"""Local recoding at other values of k and of the suppression limit: what could be had instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Session
from tableveil.classes import ClassCounter, Effort
from tableveil.control import Control, Progress, Stopped
from tableveil.counting import CombinationRows, combination_rows
from tableveil.errors import InfeasibleError
from tableveil.local_recoding import LARGEST_BY_CELL, SUPPRESSED, LocalPartition, recode
from tableveil.pipelines.local_recoding.problem import (
    by_sum,
    own_levels_of,
    partition_of,
    problem_of,
    score_of,
    seconds_for_incumbent,
)
from tableveil.pipelines.own_levels import own_losses
from tableveil.pipelines.privacy import judging_models
from tableveil.pipelines.read import Counted
from tableveil.pipelines.solution import FrontierMethod
from tableveil.pipelines.work import JobContext
from tableveil.policy import Policy
from tableveil.release import check_one_meaning
from tableveil.requests.frontier import FrontierGrid, k_of, with_k
from tableveil.search.frontier import FrontierOutcome, FrontierProblem, frontier
from tableveil.state.frontiers import Found, Point
from tableveil.state.release_explanations import Alternative

CHECKS_FOR_ALTERNATIVES = 16
"""The work that alternatives may take, as `Effort` counts it: a second or two at 20,000 combinations of values."""

MORE_SUPPRESSED = Decimal("0.05")


@dataclass(frozen=True, slots=True, eq=False)
class LocalSource:
    """A counted source, on which policies with other k and limits are tried."""

    counts: Counted
    counter: ClassCounter
    rows: CombinationRows

    def reached(
        self, policy: Policy, control: Control, incumbent: NDArray[np.int64] | None, *, bounded: bool
    ) -> _Reached | None:
        """The best partition found, with a bound if it is to be `bounded`; None if none was."""
        problem = problem_of(policy, self.counts, self.counter, self.rows)
        try:
            if problem.suppressible < 0:
                return None
            local = recode(problem, control, [] if incumbent is None else [incumbent], bounded=bounded)
        except (InfeasibleError, Stopped):
            control.raise_if_cancelled()
            return None
        losses = own_losses(own_levels_of(self.rows.combinations, local), self.counter.records)
        return _Reached(
            local,
            score=score_of(self.counts, self.counter, problem, local, losses)[0],
            suppressed=self.counter.withheld + int(problem.counts[local.classes == SUPPRESSED].sum()),
            lower_bound=local.lower_bound if problem.costs.surrogate is None else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Reached:
    """A partition with its score as users see it, and a bound of that score, if there is one."""

    local: LocalPartition
    score: float
    suppressed: int
    lower_bound: float | None


def alternatives(job: JobContext, source: LocalSource, local_partition: LocalPartition) -> Iterator[Alternative]:
    """Scores that a lower k and a higher limit reach with little work, from the classes that were found.

    There are none if some models only judge what is chosen, because nothing asks them here; none for a table so
    large that little work finds nothing; and none if the best is to be kept.

    Raises:
        CancelledError: the job was cancelled.
    """
    asked = _asked(source.counts.policy, len(source.rows.combinations.records))
    control = job.control.on(Effort())
    control.limit(control.now() + CHECKS_FOR_ALTERNATIVES)
    for done, other in enumerate(asked):
        if job.control.keeps_best:
            return
        reached = source.reached(other, control.part(1 / (len(asked) - done)), local_partition.classes, bounded=False)
        if reached is not None:
            yield Alternative(k_of(other), other.suppression_limit, reached.score, reached.suppressed)


def _asked(policy: Policy, combinations: int) -> list[Policy]:
    if judging_models(policy) or combinations > LARGEST_BY_CELL:
        return []
    k, limit = k_of(policy), policy.suppression_limit
    asked = [with_k(policy, (k + 1) // 2)] if k is not None and k > 2 else []
    if limit < 1:
        asked.append(replace(policy, suppression_limit=min(limit + MORE_SUPPRESSED, Decimal(1))))
    return asked


class PartitionFrontier(FrontierMethod):
    """A partition for each point. See `FrontierMethod`."""

    def check(self, session: Session, counts: Counted) -> None:
        """Labels of different levels are told apart."""
        check_one_meaning(session, counts.policy, counts.dictionaries, counts.lattice)

    def searched(self, policy: Policy) -> Policy:
        """The sum that is minimized, for the transformations that are the first partitions."""
        return by_sum(policy)

    def points(
        self, job: JobContext, grid: FrontierGrid, counts: Counted, problem: FrontierProblem
    ) -> tuple[FrontierOutcome, tuple[Point, ...]]:
        """The best transformations first, in a part of the time; the rest of it is for partitions."""
        started = job.control.now()
        front = frontier(problem, job.control, seconds_for_incumbent(counts.policy), job.report.on_progress)
        with job.control.searching(started + counts.policy.search.seconds):
            return front, _points(job, grid, counts, problem, front)


def _points(
    job: JobContext, grid: FrontierGrid, counts: Counted, problem: FrontierProblem, whole: FrontierOutcome
) -> tuple[Point, ...]:
    """The points of the grid, none worse than the transformation that `whole` has for it.

    The strictest comes first, because its classes are valid for all others. Each has an equal part of the time left.

    Raises:
        CancelledError: the job was cancelled.
    """
    source = LocalSource(counts, problem.counter, combination_rows(job.session, counts.base))
    partitions: dict[tuple[int, int], LocalPartition] = {}
    points: dict[tuple[int, int], Point] = {}
    pairs = [(i, j) for i in reversed(range(len(grid.ks))) for j in range(len(grid.suppression_limits))]
    for done, (i, j) in enumerate(pairs):
        k, limit = grid.ks[i], grid.suppression_limits[j]
        neighbours = [
            (partitions[pair].score, partitions[pair].classes)
            for pair in ((i + 1, j), (i, j - 1))
            if pair in partitions
        ]
        best = whole.points[i][j].best
        if best is not None:
            at = partition_of(problem.rules[i], problem.counter, best.transformation, source.rows.combinations)
            neighbours.append((best.score, at))
        incumbent = min(neighbours, key=itemgetter(0))[1] if neighbours else None
        policy = replace(with_k(counts.policy, k), suppression_limit=limit)
        reached = source.reached(policy, job.control.part(1 / (len(pairs) - done)), incumbent, bounded=True)
        points[i, j] = Point(k, limit, None, optimal=False, lower_bound=None)
        if reached is not None:
            partitions[i, j] = reached.local
            points[i, j] = Point(
                k,
                limit,
                Found(reached.score, reached.suppressed, len(reached.local.levels), ()),
                optimal=reached.lower_bound is not None and reached.score <= reached.lower_bound,
                lower_bound=reached.lower_bound,
            )
        job.report.on_progress(Progress(whole.checked, whole.lattice_size, None, None, None))
    return tuple(point for _, point in sorted(points.items()))
