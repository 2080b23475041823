"""The methods of frontiers: the best transformation for each point of the grid, or something better than that."""

import math
from typing import Protocol

from tableveil.backend import Session
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.read import Counted
from tableveil.policy import Policy
from tableveil.requests.frontier import FrontierGrid
from tableveil.search.frontier import FrontierOutcome, FrontierProblem, frontier
from tableveil.state.frontiers import Found, Point


class FrontierMethod(Protocol):
    """A way to answer each point of a grid."""

    def check(self, session: Session, counts: Counted) -> None:
        """Raises `InvalidError` if the counted source does not fit."""
        return None

    def searched(self, policy: Policy) -> Policy:
        """The policy by which transformations are searched."""
        return policy

    def points(
        self, job: JobContext, grid: FrontierGrid, counts: Counted, problem: FrontierProblem
    ) -> tuple[FrontierOutcome, tuple[Point, ...]]:
        """The search of transformations, and the points by k and then by limit."""


class TransformationFrontier(FrontierMethod):
    """The best transformation for each point. See `FrontierMethod`."""

    def points(
        self, job: JobContext, grid: FrontierGrid, counts: Counted, problem: FrontierProblem
    ) -> tuple[FrontierOutcome, tuple[Point, ...]]:
        """One search for all points."""
        front = frontier(problem, job.control, counts.policy.search.seconds, job.report.on_progress)
        points = tuple(
            Point(
                k=k,
                suppression_limit=suppression_limit,
                found=Found(best.score, best.suppressed, best.classes, best.transformation) if best else None,
                optimal=point.complete,
                lower_bound=None if math.isinf(point.lower_bound) else point.lower_bound,
            )
            for k, row in zip(grid.ks, front.points, strict=True)
            for suppression_limit, point in zip(grid.suppression_limits, row, strict=True)
            for best in (point.best,)
        )
        return front, points
