"""A method of anonymization, and its part in frontiers: the interface of a release pipeline to any of them."""

import math
from typing import Protocol, TypeVar

from tableveil.backend import Session, WarehouseSession
from tableveil.lifecycle import Evidence, Solution
from tableveil.pipelines.read import Counted, Dictionaries, FoundHierarchies
from tableveil.pipelines.work import JobContext
from tableveil.policy import Policy
from tableveil.requests.frontier import FrontierGrid
from tableveil.search.frontier import FrontierOutcome, FrontierProblem, frontier
from tableveil.source import Source
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


Counts = TypeVar("Counts")


class Method(Protocol[Counts]):
    """A way to make a release. All methods share the reading, the writing and the verification.

    A method has a `frontier` of its own if the points of its frontiers are more than transformations.
    """

    frontier: FrontierMethod = TransformationFrontier()

    def admit(self, session: WarehouseSession, policy: Policy, source: Source) -> None:
        """Raises `InvalidError` if the source cannot be released, by what shows without its rows."""
        return None

    def drawn(
        self, job: JobContext, source: Source, policy: Policy, hierarchies: FoundHierarchies
    ) -> tuple[Source, Policy, FoundHierarchies]:
        """The rows that the release is made of, with the policy and the hierarchies that fit them.

        Raises:
            InvalidError: they cannot be drawn.
        """
        return source, policy, hierarchies

    def count(self, job: JobContext, policy: Policy, read: Dictionaries) -> Counts:
        """Counts the source; called in the transaction that read it.

        Raises:
            InvalidError: the policy does not fit the rows.
        """

    def solve(self, job: JobContext, counts: Counts) -> Solution:
        """Chooses the release.

        Raises:
            InfeasibleError: nothing meets the policy.
        """

    def account(self, evidence: Evidence, policy: Policy, source: Source) -> Evidence:
        """The evidence of a release of that policy and `source`, the rows that it is made of."""
        return evidence
