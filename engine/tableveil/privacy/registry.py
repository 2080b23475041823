"""The rule of each privacy model, and of all models of a policy together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tableveil.classes import ClassCounter
from tableveil.policy import (
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    EstimatedKMap,
    Game,
    Inclusion,
    KAnonymity,
    KMap,
    NoAttack,
    NTCloseness,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    Profitability,
    RecursiveCLDiversity,
    SafeHarbor,
    SampleUniqueness,
    TCloseness,
)
from tableveil.privacy.average_risk import AverageRiskRule
from tableveil.privacy.closeness import TClosenessRule
from tableveil.privacy.conjunction import Conjunction
from tableveil.privacy.disclosure import delta_disclosure_rule
from tableveil.privacy.diversity import DistinctLDiversityRule, ProbabilisticLDiversityRule, RecursiveCLDiversityRule
from tableveil.privacy.entropy_diversity import entropy_l_diversity_rule
from tableveil.privacy.facts import Facts
from tableveil.privacy.k_anonymity import KAnonymityRule
from tableveil.privacy.k_map import EstimatedKMapRule, KMapRule
from tableveil.privacy.likeness import BetaLikenessRule
from tableveil.privacy.model import ReleaseRule
from tableveil.privacy.n_t_closeness import NTClosenessRule
from tableveil.privacy.no_attack import no_attack_rule
from tableveil.privacy.presence import DeltaPresenceRule, InclusionRule
from tableveil.privacy.profitability import profitability_rule
from tableveil.privacy.safe_harbor import SafeHarborRule
from tableveil.privacy.uniqueness import PopulationUniquenessRule, SampleUniquenessRule

RULES: Mapping[type[PrivacyModel], Callable[[Any, Facts], ReleaseRule]] = {
    KAnonymity: lambda model, facts: KAnonymityRule(model),
    KMap: lambda model, facts: KMapRule(model),
    EstimatedKMap: EstimatedKMapRule,
    DeltaPresence: lambda model, facts: DeltaPresenceRule(model),
    Inclusion: lambda model, facts: InclusionRule(model),
    AverageRisk: AverageRiskRule,
    SampleUniqueness: SampleUniquenessRule,
    PopulationUniqueness: PopulationUniquenessRule,
    Profitability: profitability_rule,
    NoAttack: no_attack_rule,
    SafeHarbor: lambda model, facts: SafeHarborRule(model),
    DistinctLDiversity: DistinctLDiversityRule,
    ProbabilisticLDiversity: ProbabilisticLDiversityRule,
    EntropyLDiversity: entropy_l_diversity_rule,
    RecursiveCLDiversity: RecursiveCLDiversityRule,
    TCloseness: TClosenessRule,
    NTCloseness: NTClosenessRule,
    DeltaDisclosure: delta_disclosure_rule,
    BetaLikeness: BetaLikenessRule,
}


def privacy_of(
    models: Iterable[PrivacyModel],
    counter: ClassCounter,
    population_size: int | None = None,
    game: Game | None = None,
) -> Conjunction:
    """The rule of all these models together, for the source that the counter counts."""
    facts = Facts(counter, population_size, game)
    return Conjunction(tuple(RULES[type(model)](model, facts) for model in models))
