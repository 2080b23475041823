"""A game must be playable, fields that need a game have one, and the record level gets columns that it can judge."""

from dataclasses import fields, replace
from decimal import Decimal

import pytest

from tableveil.hierarchy import SafeHarborAge
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    AttributePolicy,
    BreakEven,
    Game,
    KAnonymity,
    LossModel,
    NoAttack,
    Policy,
    PrivacyModel,
    Profitability,
    PublisherPayoutModel,
    QualityModel,
    ReleaseTarget,
    Role,
    SafeHarbor,
    SearchOptions,
    Strategy,
    Success,
    SuppressedRecords,
    TableReference,
    validate_policy,
)
from tableveil.policy.methods.record_level import RecordLevel

D = Decimal
GAME = Game(D(1200), D(300), D(300), D(4))
SOUND = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, SafeHarborAge()),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("ward", Role.INSENSITIVE),
    ),
    person_column=None,
    privacy_models=(
        Profitability(),
        Profitability(break_even=BreakEven.SUPPRESS),
        NoAttack(),
        NoAttack(Success.MARKETER),
    ),
    release=ReleaseTarget("main", "released"),
    quality_model=PublisherPayoutModel(),
    game=GAME,
)
RECORD_LEVEL = replace(
    SOUND,
    privacy_models=(Profitability(Success.JOURNALIST), NoAttack(Success.JOURNALIST), SafeHarbor()),
    quality_model=PublisherPayoutModel(Success.JOURNALIST),
    methods=(RecordLevel(),),
)


def faults(policy: Policy) -> list[tuple[str, str]]:
    return [(fault.field, fault.found) for fault in validate_policy(policy)]


def test_sound_ones() -> None:
    assert faults(SOUND) == []
    assert faults(RECORD_LEVEL) == []
    assert faults(replace(SOUND, game=Game(D("1e-9"), D(0), D("2e-9"), D("1e-9")))) == []
    assert faults(replace(SOUND, game=Game(D("1.50"), D(10**12), D(10**12), D(3)))) == []


@pytest.mark.parametrize("field", [field.name for field in fields(Game)])
@pytest.mark.parametrize(
    "value",
    [D(-1), D("-0.000000001"), D("NaN"), D("sNaN"), D("Infinity"), D("-Infinity"), D(10**12 + 1), D("5.0000000001")],
)
def test_amounts_that_nothing_is_worth(field: str, value: Decimal) -> None:
    found = faults(replace(SOUND, game=replace(GAME, **{field: value})))
    assert found == [(f"game.{field}", f"{value:f}")]


@pytest.mark.parametrize("field", ["publisher_benefit", "adversary_gain", "adversary_cost"])
def test_nothing_to_win_and_attacks_for_nothing(field: str) -> None:
    (fault,) = validate_policy(replace(SOUND, game=replace(GAME, **{field: D("0.0")})))
    assert (fault.field, fault.found) == (f"game.{field}", "0.0")
    assert "above 0" in fault.expected


@pytest.mark.parametrize("gain", ["3.999999999", "4", "4.000000000"])
def test_an_adversary_who_never_attacks(gain: str) -> None:
    found = faults(replace(SOUND, game=replace(GAME, adversary_gain=D(gain))))
    assert found == [("game.adversary_gain", f"{gain}, which is not above the cost of 4")]
    assert faults(replace(SOUND, game=replace(GAME, adversary_gain=D("4.000000001")))) == []


@pytest.mark.parametrize(
    ("model", "quality", "asking"),
    [
        (Profitability(), LossModel(), "profitability"),
        (NoAttack(Success.JOURNALIST), LossModel(), "no_attack"),
        (KAnonymity(5), PublisherPayoutModel(Success.MARKETER), "publisher_payout"),
    ],
)
def test_a_game_that_is_missing(model: PrivacyModel, quality: QualityModel, asking: str) -> None:
    policy = replace(SOUND, privacy_models=(model,), quality_model=quality, game=None)
    (fault,) = validate_policy(policy)
    assert (fault.field, fault.found) == ("game", "nothing")
    assert fault.expected.endswith(asking)
    assert faults(replace(policy, privacy_models=(KAnonymity(5),), quality_model=LossModel())) == []


def test_the_same_model_twice() -> None:
    models = (Profitability(), NoAttack(), Profitability(), NoAttack(Success.PROSECUTOR))
    assert [field for field, _ in faults(replace(SOUND, privacy_models=models))] == [
        "privacy_models[2]",
        "privacy_models[3]",
    ]


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        (Profitability(), (".profitability.success", "PROSECUTOR")),
        (Profitability(Success.MARKETER), (".profitability.success", "MARKETER")),
        (NoAttack(), (".no_attack.success", "PROSECUTOR")),
        (KAnonymity(5), ("", "k_anonymity with record_level")),
    ],
)
def test_models_of_classes_at_the_record_level(model: PrivacyModel, fault: tuple[str, str]) -> None:
    policy = replace(RECORD_LEVEL, privacy_models=(SafeHarbor(), model))
    field, found = fault
    assert faults(policy) == [(f"privacy_models[1]{field}", found)]


@pytest.mark.parametrize(
    ("quality", "fault"),
    [
        (LossModel(), ("quality_model", "loss with record_level")),
        (PublisherPayoutModel(), ("quality_model.publisher_payout.success", "PROSECUTOR")),
        (PublisherPayoutModel(Success.MARKETER), ("quality_model.publisher_payout.success", "MARKETER")),
    ],
)
def test_quality_models_at_the_record_level(quality: QualityModel, fault: tuple[str, str]) -> None:
    assert faults(replace(RECORD_LEVEL, quality_model=quality)) == [fault]


def test_no_privacy_model_at_the_record_level() -> None:
    """No model is proposed that the next check refuses."""
    (fault,) = validate_policy(replace(RECORD_LEVEL, privacy_models=()))
    assert (fault.field, fault.found) == ("privacy_models", "none")
    assert "profitability" in fault.hint


@pytest.mark.parametrize(
    ("search", "field", "found"),
    [
        (SearchOptions(levels=(("age", 1), ("sex", 0))), "levels", "levels with record_level"),
        (SearchOptions(linked=(("age", "sex"),)), "linked", "linked with record_level"),
        (SearchOptions(strategy=Strategy.EXACT), "strategy", "strategy with record_level"),
        (SearchOptions(time_limit_seconds=D(5)), "time_limit_seconds", "time_limit_seconds with record_level"),
    ],
)
def test_search_options_at_the_record_level(search: SearchOptions, field: str, found: str) -> None:
    assert faults(replace(RECORD_LEVEL, search=search)) == [(f"search.{field}", found)]


def test_suppressed_records_at_the_record_level() -> None:
    kept = replace(RECORD_LEVEL, suppressed_records=SuppressedRecords.KEEP, marker_column="gone")
    assert faults(kept) == [("suppressed_records.handling", "KEEP")]
    assert faults(replace(kept, suppressed_records=SuppressedRecords.BLANK)) == []
