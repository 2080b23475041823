"""The measures of a risk analysis as rows; docs/explanations/risk.md explains each."""

from collections.abc import Sequence
from decimal import Decimal

from tableveil.policy import UniquenessEstimator
from tableveil.risk import (
    AttackRisk,
    AttributeRisk,
    ClassSizes,
    IndividualRisk,
    PeopleRisk,
    PopulationEstimates,
    ReidentificationRisk,
    SubsetRisks,
    intruder_success,
    population_estimates,
    proposed_identifiers,
    prosecutor_risk,
)
from tableveil.state.risk_analyses import Measure, SubsetRisk

PROPOSED_DISTINCTION = 0.5
"""Subsets with half as many combinations of values as records are proposed as quasi-identifiers."""


def reidentification_measures(risk: ReidentificationRisk) -> list[Measure]:
    """The measures of the three adversaries, and the unique records."""
    return [
        *_of_attack("prosecutor", risk.prosecutor),
        *_of_attack("journalist", risk.journalist),
        Measure("marketer", "success_rate", None, risk.marketer),
        Measure("sample", "unique_records", None, float(risk.unique_records)),
        Measure("sample", "uniqueness", None, risk.unique_records / risk.records),
    ]


def _of_attack(model: str, risk: AttackRisk) -> list[Measure]:
    return [
        Measure(model, "highest_risk", None, risk.highest),
        Measure(model, "average_risk", None, risk.average),
        Measure(model, "lowest_risk", None, risk.lowest),
        Measure(model, "records_at_highest_risk", None, float(risk.records_at_highest)),
        Measure(model, "records_at_lowest_risk", None, float(risk.records_at_lowest)),
        *_above(model, risk.records_at_risk),
    ]


def _above(model: str, records_at_risk: Sequence[tuple[Decimal, int]]) -> list[Measure]:
    return [
        Measure(model, "records_above_threshold", f"{threshold:f}", float(records))
        for threshold, records in records_at_risk
    ]


def population_measures(estimates: PopulationEstimates) -> list[Measure]:
    """Estimates by every estimator, the last by Dankar's rule; classes of the population by its models."""
    measures = []
    for estimator, share in estimates.uniqueness.items():
        if estimator is UniquenessEstimator.DANKAR:
            continue
        model = f"population ({estimator.value.lower()})"
        measures.append(Measure(model, "uniqueness", None, share))
        if estimator in estimates.sizes:
            sizes = estimates.sizes[estimator]
            measures.append(Measure(model, "classes", None, sizes.classes if sizes else None))
            measures += [
                Measure(model, f"classes_of_{size}", None, classes)
                for size, classes in enumerate(sizes.of_size if sizes else (), start=1)
            ]
    rule = estimates.rule
    model = f"population (dankar: {rule.value.lower()})"
    return [*measures, Measure(model, "uniqueness", None, estimates.uniqueness[rule])]


def compared_measures(sizes: ClassSizes, thresholds: Sequence[Decimal], population: int | None) -> tuple[Measure, ...]:
    """The measures of one of several sets of columns: for an adversary who knows that the person is in the table."""
    risk = prosecutor_risk(sizes, thresholds)
    measures = [
        Measure("sample", "classes", None, float(risk.classes)),
        Measure("sample", "unique_records", None, float(risk.unique_records)),
        Measure("sample", "uniqueness", None, risk.unique_records / risk.records),
        Measure("prosecutor", "highest_risk", None, risk.highest),
        Measure("prosecutor", "average_risk", None, risk.average),
        *_above("prosecutor", risk.records_at_risk),
    ]
    if population is not None:
        estimates = population_estimates(sizes, population)
        model = f"population (dankar: {estimates.rule.value.lower()})"
        measures.append(Measure(model, "uniqueness", None, estimates.uniqueness[estimates.rule]))
    return tuple(measures)


def people_measures(risk: PeopleRisk) -> list[Measure]:
    """The measures where people have several records; `people` counts each person of a class as likely as another."""
    return [*_of_attack("prosecutor", risk.prosecutor), *_of_attack("people", risk.people), *_alone(risk)]


def compared_of_people(risk: PeopleRisk) -> tuple[Measure, ...]:
    """The measures of one of several sets of columns, where people have several records."""
    return (
        Measure("sample", "classes", None, float(risk.classes)),
        *_alone(risk),
        Measure("prosecutor", "highest_risk", None, risk.prosecutor.highest),
        Measure("prosecutor", "average_risk", None, risk.prosecutor.average),
        *_above("prosecutor", risk.prosecutor.records_at_risk),
    )


def _alone(risk: PeopleRisk) -> tuple[Measure, Measure]:
    return (
        Measure("sample", "unique_records", None, float(risk.alone)),
        Measure("sample", "uniqueness", None, risk.alone / risk.records),
    )


def individual_measures(risk: IndividualRisk) -> list[Measure]:
    """The measures by survey weights."""
    return [
        Measure("individual", "highest_risk", None, risk.highest),
        Measure("individual", "average_risk", None, risk.average),
        Measure("individual", "expected_found", None, risk.expected),
        *_above("individual", risk.records_at_risk),
    ]


def special_measures(risks: SubsetRisks, sizes: ClassSizes, fraction: float | None) -> list[Measure]:
    """The measures of the special uniques; `fraction` is the sampling fraction, if that is known."""
    special, model = risks.special, "special uniques"
    measures = [
        Measure(model, "records", None, float((special.found > 0).sum())),
        Measure(model, "highest_score", None, float(special.scores.max(initial=0.0))),
        *(
            Measure(model, f"minimal_uniques_of_{members}", None, float(measure))
            for members, measure in enumerate(special.by_size, start=1)
        ),
    ]
    if fraction is not None:
        measures.append(Measure(model, "correct_match_probability", None, intruder_success(sizes, fraction)))
    return measures


def proposed_among(risks: Sequence[AttributeRisk]) -> list[AttributeRisk]:
    """The subsets that are proposed as quasi-identifiers, in a table with records; see `subset_rows`."""
    return proposed_identifiers(risks, PROPOSED_DISTINCTION, 1 - 1 / risks[0].records)


def subset_rows(risks: SubsetRisks, columns: Sequence[str]) -> tuple[SubsetRisk, ...]:
    """The subsets by the names of their columns.

    Proposed are the smallest subsets that have half as many combinations of values as records, or in which a record
    equals less than one other on average. Both are guesses.
    """
    proposed = set(proposed_among(risks.subsets))
    return tuple(
        SubsetRisk(
            tuple(columns[j] for j in risk.attributes),
            risk.distinction,
            risk.separation,
            risk.unique,
            risk.minimal_unique,
            risk in proposed,
        )
        for risk in risks.subsets
    )
