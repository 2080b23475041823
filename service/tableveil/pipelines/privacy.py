"""The privacy models of a policy, for the counted table, and the strictest parameters that a release meets of them."""

from tableveil.backend import Session, WarehouseSession
from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.counting import BaseHistogram, missing_people
from tableveil.errors import Fault
from tableveil.hierarchy import UncountableError
from tableveil.pipelines.quality import uncountable
from tableveil.policy import (
    Choose,
    Distance,
    DistinctLDiversity,
    LeftBehind,
    NoAttack,
    NTCloseness,
    Policy,
    Population,
    PrivacyModel,
    ProbabilisticLDiversity,
    Profitability,
    PublisherPayoutModel,
    SensitiveModel,
    Success,
    SuppressedRecords,
    TCloseness,
)
from tableveil.privacy import Conjunction, Facts, left_behind_rule, privacy_of, suppressed_pool, with_pool
from tableveil.privacy.among_released import RELEASED
from tableveil.privacy.guarantees import Guarantee, guarantees
from tableveil.release import ReleasePlan
from tableveil.source import Source, estimated_values

LARGEST_UNASKED = 1_000_000
MOST_UNASKED_VALUES = 10_000
"""Up to these numbers of records and of different values, a column is counted although no model names it.

The counts only show the guarantees of models that nobody asked for. Nearly unique values meet none of these.
"""


def choosing_models(policy: Policy) -> tuple[PrivacyModel, ...]:
    """The models that take part in choosing the transformation."""
    if policy.search.choose is Choose.ALL_MODELS:
        return policy.privacy_models
    return tuple(model for model in policy.privacy_models if not isinstance(model, SensitiveModel))


def judging_models(policy: Policy) -> tuple[PrivacyModel, ...]:
    """The models that only judge the choice made without them."""
    return tuple(model for model in policy.privacy_models if model not in choosing_models(policy))


def privacy_for(
    models: tuple[PrivacyModel, ...], policy: Policy, base: BaseHistogram, counter: ClassCounter
) -> Conjunction:
    """The rule of some of the policy's models together, and that of those left behind, where the policy requires it.

    Raises:
        InvalidError: A model counts combinations of values, and the policy's hierarchies do not allow it.
    """
    try:
        rules = privacy_of(models, counter, population_size(policy, base), policy.game)
        if base.columns.earlier is None or policy.release.left_behind is not LeftBehind.REQUIRE:
            return rules
        left_behind = left_behind_rule(policy.privacy_models, Facts(counter), base.columns.earlier.known)
        return Conjunction((*rules.rules, left_behind))
    except UncountableError as error:
        counting = next(str(model) for model in models if isinstance(model, Profitability))
        hint = "Or ask for no_attack, which looks at the sizes of classes only."
        raise uncountable(policy, error, counting, hint, "PRIVACY_UNCOUNTABLE") from None


def facts_for(policy: Policy, base: BaseHistogram, counter: ClassCounter) -> Facts:
    """The facts about the source that models need besides its classes."""
    return Facts(counter, population_size(policy, base), policy.game)


def population_size(policy: Policy, base: BaseHistogram) -> int | None:
    """The number of people in the population, if the policy or the population's rows give it."""
    return people_in(policy.population, base.records, base.population_records)


def people_in(population: Population | None, records: int, rows: int | None) -> int | None:
    """The number of people in a population of which `records` are a part, if it or its own `rows` give it."""
    if population is None:
        return None
    if population.sampling_fraction is not None:
        return round(records / population.sampling_fraction)
    return rows if population.size is None else population.size


def counted_columns(session: WarehouseSession, source: Source, policy: Policy, records: int) -> frozenset[str]:
    """The sensitive columns whose values are counted: those that some model names, and others that cost little."""
    asked = {model.column for model in policy.privacy_models if isinstance(model, SensitiveModel)}
    unasked = [attribute.column for attribute in policy.sensitive if attribute.column not in asked]
    if not unasked or not 0 < records <= LARGEST_UNASKED:
        return frozenset(asked)
    estimates = estimated_values(session, source, unasked)
    return frozenset(asked.union(name for name in unasked if estimates[name] <= MOST_UNASKED_VALUES))


def columns_of_people(policy: Policy) -> frozenset[str]:
    """The sensitive columns of which a model bounds the people who have a value, beside the records that have it."""
    return frozenset(
        model.column
        for model in policy.privacy_models
        if isinstance(model, DistinctLDiversity | ProbabilisticLDiversity)
    )


def ordered_columns(policy: Policy) -> frozenset[str]:
    """The sensitive columns whose values some model compares by their order."""
    return frozenset(
        model.column
        for model in policy.privacy_models
        if isinstance(model, TCloseness | NTCloseness) and model.distance is Distance.ORDERED
    )


def check_population(policy: Policy, base: BaseHistogram) -> list[Fault]:
    """The faults of a population that is, or claims to be, smaller than its part."""
    return check_size(policy.population, base.records, base.population_records)


def check_size(population: Population | None, records: int, rows: int | None) -> list[Fault]:
    """The faults of a population with so many `rows`, for a source with so many records."""
    expected = f"at least the {records} records of the source, which is a part of it"
    size = None if population is None else population.size
    sizes = [("population.size", size), ("population.table", rows)]
    return [Fault(field, str(n), expected) for field, n in sizes if n is not None and n < records]


def check_contained(session: Session, base: BaseHistogram) -> list[Fault]:
    """The fault of a population's table that lacks people of the source: risks would be about other people."""
    if base.population is None:
        return []
    combinations, records = missing_people(session, base)
    if not records:
        return []
    actual = f"too few people for {records} records, in {combinations} combinations of the quasi-identifiers' values"
    expected = "at least as many people as the source has records of every combination, because it is a part of them"
    hint = "Give a table that has everybody of the source, or leave it out: then the source stands for the population."
    return [Fault("population.table", actual, expected, hint)]


def plays_in_population(policy: Policy) -> bool:
    """Whether any model is about attackers who look for people in the population."""
    models = (*policy.privacy_models, policy.quality_model)
    game = (Profitability, NoAttack, PublisherPayoutModel)
    return any(isinstance(model, game) and model.success is not Success.PROSECUTOR for model in models)


LARGEST_BEFORE = 2_000_000
"""Distinct combinations up to which the source's own classes are read: they come as arrays, all at once."""


def guarantees_of(
    policy: Policy, base: BaseHistogram, counter: ClassCounter, before: EquivalenceClasses | None, plan: ReleasePlan
) -> tuple[Guarantee, ...]:
    """The guarantees of the source's own classes, if they are given, and of the released classes and pool."""
    facts = facts_for(policy, base, counter)
    after, pool = plan.classes.selected(plan.kept), shown_pool(policy, counter, plan)
    found = guarantees(facts, policy.privacy_models, before, after if pool is None else with_pool(after, pool))
    if base.columns.earlier is None:
        return found
    # Nobody sees the joint classes in the rows of this release.
    return tuple(one for one in found if not one.model.endswith(f"{RELEASED})"))


def shown_pool(policy: Policy, counter: ClassCounter, plan: ReleasePlan) -> EquivalenceClasses | None:
    """The suppressed records as a class, if there are any and they are shown."""
    shown = policy.suppressed_records is SuppressedRecords.KEEP and plan.suppressed_records
    return suppressed_pool(counter, plan.classes, plan.kept) if shown else None


def classes_before(base: BaseHistogram, counter: ClassCounter) -> EquivalenceClasses | None:
    """The source's own classes; None if they are too many, or if its people are separated by more.

    With aggregated columns, classes at level 0 are not those of the source: its people differ by these columns, too.
    """
    most = max([base.combinations, *(histogram.rows for histogram in base.by_value)])
    if most > LARGEST_BEFORE or base.columns.tell_apart:
        return None
    return counter.classes((0,) * len(counter.levels))
