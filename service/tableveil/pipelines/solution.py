"""A method of anonymization: the interface of a release pipeline to any of them."""

from typing import Protocol, TypeVar

from tableveil.backend import WarehouseSession
from tableveil.lifecycle import Evidence, Solution
from tableveil.pipelines.frontier_method import FrontierMethod, TransformationFrontier
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.read import Dictionaries, FoundHierarchies
from tableveil.policy import Policy
from tableveil.source import Source

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
