"""The privacy models in one place: each one's rule, measure and lenience, and one rule of a policy's models."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tableveil import policy
from tableveil.classes import ClassCounter, ClassValues, PersonValues, SensitiveColumn
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

RULES: Mapping[type[policy.PrivacyModel], Callable[[Any, Facts], ReleaseRule]] = {
    policy.KAnonymity: k_rule,
    policy.Dominance: share_rule,
    policy.KMap: lambda model, facts: KMapRule(model),
    policy.EstimatedKMap: EstimatedKMapRule,
    policy.DeltaPresence: lambda model, facts: DeltaPresenceRule(model),
    policy.Inclusion: lambda model, facts: InclusionRule(model),
    policy.AverageRisk: AverageRiskRule,
    policy.SampleUniqueness: SampleUniquenessRule,
    policy.PopulationUniqueness: PopulationUniquenessRule,
    policy.Profitability: profitability_rule,
    policy.NoAttack: no_attack_rule,
    policy.SafeHarbor: lambda model, facts: SafeHarborRule(model),
    policy.DistinctLDiversity: distinct_rule,
    policy.ProbabilisticLDiversity: probabilistic_rule,
    policy.EntropyLDiversity: entropy_l_diversity_rule,
    policy.RecursiveCLDiversity: RecursiveCLDiversityRule,
    policy.TCloseness: closeness_rule,
    policy.NTCloseness: NTClosenessRule,
    policy.DeltaDisclosure: delta_disclosure_rule,
    policy.BetaLikeness: BetaLikenessRule,
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
        lambda values, column: entropy_l(values, column, policy.EntropyEstimator.GRASSBERGER),
    ),
    ("delta_disclosure", "delta", np.max, lambda values, column: delta(values, column, policy.AbsentValues.REJECT)),
    (
        "delta_disclosure (absent values ignored)",
        "delta",
        np.max,
        lambda values, column: delta(values, column, policy.AbsentValues.IGNORE),
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


def grids(model: policy.PrivacyModel, records: int) -> Iterator[tuple[str, UnitSteps]]:
    """The model's parameters that a policy may set, with their values from the model's own to more lenient ones."""
    match model:
        case policy.KAnonymity(k) | policy.KMap(k) | policy.EstimatedKMap(k):
            yield "k", fewer(k, 2)
        case policy.Dominance(share):
            yield "share", up(share, 1 - UNIT)
        case policy.DeltaPresence(minimum, maximum):
            yield "maximum", up(maximum, Decimal(1) if minimum else 1 - UNIT)
            yield "minimum", down(minimum, Decimal(0))
        case (
            policy.AverageRisk(threshold) | policy.SampleUniqueness(threshold) | policy.PopulationUniqueness(threshold)
        ):
            yield "threshold", up(threshold, 1 - UNIT)
        case policy.DistinctLDiversity(_, l):
            yield "l", fewer(l, 2)
        case policy.ProbabilisticLDiversity(_, l) | policy.EntropyLDiversity(_, l) | policy.SensitiveShare(_, l):
            yield "l", down(l, 1 + UNIT)
        case policy.RecursiveCLDiversity(_, c, l):
            yield "c", up(c, Decimal(records + 1))
            yield "l", fewer(l, 2)
        case policy.TCloseness(_, t):
            yield "t", up(t, 1 - UNIT)
        case policy.NTCloseness(_, n, t):
            yield "t", up(t, 1 - UNIT)
            yield "n", fewer(n, 2)
        case policy.DeltaDisclosure(_, delta):
            yield "delta", up(delta, Decimal(records.bit_length() + 1))
        case policy.BetaLikeness(_, beta):
            yield "beta", up(beta, Decimal(records))
        case policy.KnownFacts(m):
            yield "m", fewer(m, 1)
        case policy.Inclusion() | policy.Profitability() | policy.NoAttack() | policy.SafeHarbor():
            # They are asked for or not: no number makes them more lenient.
            return
        case _:
            assert_never(model)


def privacy_of(
    models: Iterable[policy.PrivacyModel],
    counter: ClassCounter,
    population_size: int | None = None,
    game: policy.Game | None = None,
) -> Conjunction:
    """The rule of all these models together, for the source that the counter counts."""
    facts = Facts(counter, population_size, game)
    return Conjunction(tuple(RULES[type(model)](model, facts) for model in models))
