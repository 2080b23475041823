"""The privacy models in one place: each one's rule, measure and lenience, and one rule of a policy's models."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, ClassValues, PersonValues, SensitiveColumn
from tableveil.policy import (
    AbsentValues,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    Dominance,
    EntropyEstimator,
    EntropyLDiversity,
    EstimatedKMap,
    Game,
    Inclusion,
    KAnonymity,
    KMap,
    KnownFacts,
    NoAttack,
    NTCloseness,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    Profitability,
    RecursiveCLDiversity,
    SafeHarbor,
    SampleUniqueness,
    SensitiveShare,
    TCloseness,
)
from tableveil.privacy.closeness_of_elements import closeness_rule
from tableveil.privacy.disclosure import delta, delta_disclosure_rule
from tableveil.privacy.diversity import RecursiveCLDiversityRule, distinct, probabilistic_l
from tableveil.privacy.diversity_of_people import (
    distinct_of_people,
    distinct_rule,
    probabilistic_of_people,
    probabilistic_rule,
)
from tableveil.privacy.entropy_diversity import entropy_l, entropy_l_diversity_rule
from tableveil.privacy.k_map import EstimatedKMapRule, KMapRule
from tableveil.privacy.likeness import BetaLikenessRule, beta
from tableveil.privacy.model import Conjunction, Facts, ReleaseRule
from tableveil.privacy.n_t_closeness import NTClosenessRule
from tableveil.privacy.no_attack import no_attack_rule
from tableveil.privacy.presence import DeltaPresenceRule, InclusionRule
from tableveil.privacy.profitability import profitability_rule
from tableveil.privacy.risks import AverageRiskRule, PopulationUniquenessRule, SampleUniquenessRule
from tableveil.privacy.safe_harbor import SafeHarborRule
from tableveil.privacy.steps import UNIT, UnitSteps, down, fewer, up
from tableveil.privacy.units import k_rule, share_rule

RULES: Mapping[type[PrivacyModel], Callable[[Any, Facts], ReleaseRule]] = {
    KAnonymity: k_rule,
    Dominance: share_rule,
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
    DistinctLDiversity: distinct_rule,
    ProbabilisticLDiversity: probabilistic_rule,
    EntropyLDiversity: entropy_l_diversity_rule,
    RecursiveCLDiversity: RecursiveCLDiversityRule,
    TCloseness: closeness_rule,
    NTCloseness: NTClosenessRule,
    DeltaDisclosure: delta_disclosure_rule,
    BetaLikeness: BetaLikenessRule,
}


PerClass = NDArray[np.int64] | NDArray[np.float64]

MEASURES: tuple[tuple[str, str, Callable[[Any], Any], Callable[[ClassValues, SensitiveColumn], PerClass]], ...] = (
    ("distinct_l_diversity", "l", np.min, distinct),
    ("probabilistic_l_diversity", "l", np.min, probabilistic_l),
    ("entropy_l_diversity", "l", np.min, entropy_l),
    (
        "entropy_l_diversity (grassberger)",
        "l",
        np.min,
        lambda values, column: entropy_l(values, column, EntropyEstimator.GRASSBERGER),
    ),
    ("delta_disclosure", "delta", np.max, lambda values, column: delta(values, column, AbsentValues.REJECT)),
    (
        "delta_disclosure (absent values ignored)",
        "delta",
        np.max,
        lambda values, column: delta(values, column, AbsentValues.IGNORE),
    ),
    ("beta_likeness", "beta", np.max, beta),
    ("beta_likeness (enhanced)", "beta", np.max, lambda values, column: beta(values, column, enhanced=True)),
)
"""For each sensitive column: model, parameter, which class decides, and the parameter that each class meets."""

OF_PEOPLE: tuple[tuple[str, str, Callable[[ClassValues, PersonValues], PerClass]], ...] = (
    ("distinct_l_diversity (people)", "l", distinct_of_people),
    ("probabilistic_l_diversity (people)", "l", probabilistic_of_people),
)
"""For each sensitive column whose people were counted: model, parameter, and the parameter that each class meets."""


def grids(model: PrivacyModel, records: int) -> Iterator[tuple[str, UnitSteps]]:
    """The model's parameters that a policy may set, with their values from the model's own to more lenient ones."""
    match model:
        case KAnonymity(k) | KMap(k) | EstimatedKMap(k):
            yield "k", fewer(k, 2)
        case Dominance(share):
            yield "share", up(share, 1 - UNIT)
        case DeltaPresence(minimum, maximum):
            yield "maximum", up(maximum, Decimal(1) if minimum else 1 - UNIT)
            yield "minimum", down(minimum, Decimal(0))
        case AverageRisk(threshold) | SampleUniqueness(threshold) | PopulationUniqueness(threshold):
            yield "threshold", up(threshold, 1 - UNIT)
        case DistinctLDiversity(_, l):
            yield "l", fewer(l, 2)
        case ProbabilisticLDiversity(_, l) | EntropyLDiversity(_, l) | SensitiveShare(_, l):
            yield "l", down(l, 1 + UNIT)
        case RecursiveCLDiversity(_, c, l):
            yield "c", up(c, Decimal(records + 1))
            yield "l", fewer(l, 2)
        case TCloseness(_, t):
            yield "t", up(t, 1 - UNIT)
        case NTCloseness(_, n, t):
            yield "t", up(t, 1 - UNIT)
            yield "n", fewer(n, 2)
        case DeltaDisclosure(_, delta):
            yield "delta", up(delta, Decimal(records.bit_length() + 1))
        case BetaLikeness(_, beta):
            yield "beta", up(beta, Decimal(records))
        case KnownFacts(m):
            yield "m", fewer(m, 1)
        case Inclusion() | Profitability() | NoAttack() | SafeHarbor():
            # They are asked for or not: no number makes them more lenient.
            return
        case _:
            assert_never(model)


def privacy_of(
    models: Iterable[PrivacyModel], counter: ClassCounter, population_size: int | None = None, game: Game | None = None
) -> Conjunction:
    """The rule of all these models together, for the source that the counter counts."""
    facts = Facts(counter, population_size, game)
    return Conjunction(tuple(RULES[type(model)](model, facts) for model in models))
