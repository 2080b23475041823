"""The knowledge of a job about a release before it is written: its method's solution, and how that came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tableveil.errors import Warned, by_rank
from tableveil.policy import Policy, PrivacyModel
from tableveil.privacy.exposure.found import Exposure
from tableveil.privacy.guarantees import Guarantee
from tableveil.release import ReleasePlan
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.search.explain import NeighbourhoodExplanation
from tableveil.source import Fingerprint
from tableveil.state.joint_texts import JointText
from tableveil.state.releases import MethodFigures


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Solution(MethodFigures):
    """A plan that meets the policy, with the method's figures.

    Attributes:
        plan: The release to write.
        parts: The score's part of each quasi-identifier; empty if the quality model has no parts.
        losses: The loss of each quasi-identifier, those of generalized ones first.
        chosen_by: The privacy models that took part in the choice; the rules of the explanation are theirs.
        explanation: The reasons for this transformation; None if the method chooses no transformation.
        sizes_before: The classes of the source.
        risk_before: The risk of the source's records where people have several; None by the sizes of classes.
        risk_after: The risk of the released records, likewise.
    """

    plan: ReleasePlan
    parts: tuple[float, ...]
    losses: tuple[float, ...]
    chosen_by: tuple[PrivacyModel, ...]
    explanation: NeighbourhoodExplanation | None
    sizes_before: ClassSizes
    risk_before: ProsecutorRisk | None = None
    risk_after: ProsecutorRisk | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The solution, and the job that came to it.

    `document` is the policy as JSON; `elapsed` gives the seconds since the job started, `phases` the seconds of the
    phases so far. `joint` has the texts that depend on other releases.
    """

    job: int
    document: str
    fingerprint: Fingerprint
    population_fingerprint: str
    solution: Solution
    elapsed: Callable[[], float]
    phases: Callable[[], Mapping[str, float]]
    joint: tuple[JointText, ...] = field(default=())
    policy_of: Callable[[str], Policy] | None = None

    def with_more(
        self,
        *,
        first: Sequence[Warned] = (),
        warnings: Sequence[Warned] = (),
        guarantees: Sequence[Guarantee] = (),
        joint: Sequence[JointText] = (),
        exposures: Sequence[Exposure] = (),
    ) -> Evidence:
        """The evidence with warnings before and after the method's own, and with more of what goes to the ledger."""
        solution = replace(
            self.solution,
            warnings=by_rank((*first, *self.solution.warnings, *warnings)),
            guarantees=(*self.solution.guarantees, *guarantees),
            exposures=(*self.solution.exposures, *exposures),
        )
        return replace(self, solution=solution, joint=(*self.joint, *joint))
