"""A method of anonymization: the interface of a release pipeline to any of them."""

from __future__ import annotations

from typing import Protocol, TypeVar

from tableveil.lifecycle import Solution
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.read import Dictionaries
from tableveil.policy import Policy

Counts = TypeVar("Counts")


class Method(Protocol[Counts]):
    """A way to make a release. All methods share the reading, the writing and the verification."""

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
