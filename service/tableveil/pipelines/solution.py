"""A method of anonymization and its solution: the interface of a release pipeline to any method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from tableveil.pipelines.job import JobContext
from tableveil.pipelines.read import Dictionaries
from tableveil.policy import Policy, PrivacyModel
from tableveil.privacy.guarantees import Guarantee
from tableveil.release import ReleasePlan
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.search.explain import Explanation
from tableveil.state.release_costs import Alternative, CostPart
from tableveil.state.releases import Proof

Counts = TypeVar("Counts")


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A plan that meets the policy, with the method's evidence.

    Attributes:
        plan: The release to write.
        score: Less is better; `quality_model` says what it measures.
        parts: The score's part of each quasi-identifier; empty if the quality model has no parts.
        proof: The reason why the plan is the best, or how far from the best it may be.
        losses: The loss of each quasi-identifier, those of generalized ones first.
        quality_model: The quality model in words.
        chosen_by: The privacy models that took part in the choice.
        explanation: The reasons for this transformation; None if the method chooses no transformation.
        sizes_before: The classes of the source.
        guarantees: The strictest parameters met of every privacy model, before and after.
        warnings: For the owner, in whole sentences.
        risk_before: The risk of the source's records where people have several; None by the sizes of classes.
        risk_after: The risk of the released records, likewise.
        costs: The parts of the loss, if classes have levels of their own.
        alternatives: Scores that other policies would have, if the method looks for them.
    """

    plan: ReleasePlan
    score: float
    parts: tuple[float, ...]
    proof: Proof
    losses: tuple[float, ...]
    quality_model: str
    chosen_by: tuple[PrivacyModel, ...]
    explanation: Explanation | None
    sizes_before: ClassSizes
    guarantees: tuple[Guarantee, ...]
    warnings: tuple[str, ...]
    risk_before: ProsecutorRisk | None = None
    risk_after: ProsecutorRisk | None = None
    costs: tuple[CostPart, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


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
