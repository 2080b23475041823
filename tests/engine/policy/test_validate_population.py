"""A population defines something, and everything that the privacy models need of it."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    AttributePolicy,
    DeltaPresence,
    EstimatedKMap,
    Inclusion,
    KAnonymity,
    KMap,
    Policy,
    Population,
    PopulationUniqueness,
    PrivacyModel,
    ReleaseTarget,
    Role,
    TableReference,
    validate_policy,
)

SOUND = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("chosen", Role.IDENTIFYING),
        AttributePolicy("ward", Role.INSENSITIVE),
    ),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "released"),
)

TABLE = Population(TableReference("", "main", "people"))
SUBSET = Population(subset_column="chosen")
SIZE = Population(size=10**9)
FRACTION = Population(sampling_fraction=Decimal("0.05"))

BY_ROWS: list[PrivacyModel] = [KMap(3), DeltaPresence(Decimal(0), Decimal("0.5")), Inclusion()]
BY_SIZE: list[PrivacyModel] = [EstimatedKMap(3, Decimal("0.05")), PopulationUniqueness(Decimal("0.1"))]


def fields(population: Population | None, *models: PrivacyModel) -> list[str]:
    policy = replace(SOUND, population=population, privacy_models=(KAnonymity(5), *models))
    return [fault.field for fault in validate_policy(policy)]


@pytest.mark.parametrize("population", [None, TABLE, SUBSET, SIZE, FRACTION])
@pytest.mark.parametrize("model", [*BY_ROWS, *BY_SIZE], ids=str)
def test_what_models_need(model: PrivacyModel, population: Population | None) -> None:
    rows = population in (TABLE, SUBSET)
    met = rows or (model in BY_SIZE and population is not None)
    assert fields(population, model) == ([] if met else ["population"])


def test_one_fault_tells_all_that_need_it() -> None:
    [fault] = validate_policy(replace(SOUND, population=SIZE, privacy_models=(*BY_ROWS, *BY_SIZE)))
    assert fault.found == "no rows"
    assert fault.expected == "the population's rows, because of delta_presence, inclusion, k_map"


@pytest.mark.parametrize("population", [TABLE, SUBSET, SIZE, FRACTION, replace(TABLE, size=1)])
def test_a_population_may_be_there_for_the_report(population: Population) -> None:
    assert fields(population) == []


@pytest.mark.parametrize("models", [[], [KMap(3)], BY_SIZE])
def test_a_population_says_something(models: list[PrivacyModel]) -> None:
    assert fields(Population(), *models) == ["population"]


@pytest.mark.parametrize(
    ("population", "field"),
    [
        (Population(TableReference("", "main", "")), "table.table"),
        (Population(size=0), "size"),
        (Population(size=-1), "size"),
        *(
            (Population(sampling_fraction=Decimal(text)), "sampling_fraction")
            for text in ("0", "-0.1", "1.0000000000000000000000000001", "NaN", "Infinity")
        ),
    ],
)
def test_faults_of_a_population(population: Population, field: str) -> None:
    assert fields(population) == [f"population.{field}"]


def test_the_whole_population_may_be_in_the_source() -> None:
    assert fields(Population(sampling_fraction=Decimal(1)), *BY_SIZE) == []


def test_the_subset_column_is_never_released() -> None:
    assert fields(replace(SUBSET, subset_column="ward")) == ["attributes[2].role"]
    assert fields(replace(SUBSET, subset_column="unlisted")) == []


def test_no_subset_column_is_none_without_a_name() -> None:
    policy = replace(SOUND, attributes=(*SOUND.attributes, AttributePolicy("", Role.INSENSITIVE)), population=SIZE)
    assert [fault.field for fault in validate_policy(policy)] == ["attributes[3].column"]
