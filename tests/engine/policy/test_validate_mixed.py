"""Fields that cannot be combined with quasi-identifiers that are aggregated inside classes, with exact paths."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.hierarchy import SafeHarborAge
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AmbiguityModel,
    AttributePolicy,
    EntropyModel,
    Game,
    HeightModel,
    KAnonymity,
    NoAttack,
    NullHandling,
    Policy,
    Profitability,
    PublisherPayoutModel,
    ReleaseTarget,
    Role,
    SafeHarbor,
    Scale,
    Success,
    SuppressedRecords,
    TableReference,
    validate_policy,
)
from tableveil.policy.methods.record_level import RecordLevel
from tableveil.requests.payout_sweep import check_sweep

SEX = AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly())
AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, nulls=NullHandling.ERROR, aggregation=Aggregation())
GAME = Game(Decimal(1200), Decimal(300), Decimal(300), Decimal(4))
POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(SEX, AGE),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "released"),
)


def faults(**changes: Any) -> list[str]:
    return [fault.field for fault in validate_policy(replace(POLICY, **changes))]


def test_mixed_policies_are_sound() -> None:
    assert faults() == []
    assert faults(quality_model=EntropyModel()) == faults(quality_model=AmbiguityModel()) == []
    assert faults(privacy_models=(NoAttack(),), game=GAME) == []
    assert faults(attributes=(SEX, replace(AGE, weight=2.0))) == []


def test_something_is_generalized() -> None:
    (fault,) = validate_policy(replace(POLICY, attributes=(AGE,)))
    assert (fault.field, fault.found) == ("attributes", "only aggregated quasi-identifiers")
    assert "microaggregation" in fault.hint


def test_the_games_information_loss_would_be_wrong() -> None:
    assert faults(quality_model=PublisherPayoutModel(), game=GAME) == ["quality_model"]
    assert faults(privacy_models=(KAnonymity(5), Profitability()), game=GAME) == ["privacy_models[1]"]
    played = replace(POLICY, privacy_models=(NoAttack(),), game=GAME)
    assert [fault.field for fault in check_sweep(played)] == ["attributes[1].aggregation"]
    assert not list(check_sweep(replace(played, attributes=(SEX,))))


def test_every_record_has_one_transformation_and_a_class_or_none() -> None:
    payout = PublisherPayoutModel(Success.JOURNALIST)
    assert "record_level" in faults(methods=(RecordLevel(),), quality_model=payout, game=GAME, privacy_models=())
    kept = faults(suppressed_records=SuppressedRecords.KEEP, marker_column="gone")
    assert kept == ["suppressed_records.handling"]
    assert faults(suppressed_records=SuppressedRecords.BLANK, marker_column="gone") == []


@pytest.mark.parametrize("model", [EntropyModel(), HeightModel(), AmbiguityModel()])
def test_no_weight_is_ignored(model: Any) -> None:
    assert faults(attributes=(SEX, replace(AGE, weight=2.0)), quality_model=model) == ["attributes[1].weight"]


def test_safe_harbor_is_kept_by_levels() -> None:
    label = Aggregation(AggregateFunction.COMMON_LABEL, Scale.NOMINAL)
    ages = replace(AGE, hierarchy=SafeHarborAge(), aggregation=label)
    assert faults(attributes=(SEX, ages)) == []
    models = (KAnonymity(5), SafeHarbor())
    assert faults(attributes=(SEX, ages), privacy_models=models) == ["attributes[1].aggregation"]
