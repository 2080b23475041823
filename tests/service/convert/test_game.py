"""The game as messages say it: every amount is stated, none is guessed, and what is beside it is still judged."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.convert import policy_from_proto
from tableveil.policy import BreakEven, Game, NoAttack, Profitability, PublisherPayoutModel, Success
from tableveil.policy.methods.record_level import RecordLevel
from tableveil.v1 import policy_pb2
from tests.service.convert.policy_to_proto import policy_to_proto

STATED = {"publisher_benefit": "1200", "publisher_loss": "300.50", "adversary_gain": "300", "adversary_cost": "4"}


def policy_of(**stated: str) -> policy_pb2.Policy:
    """One that asks for a game, in which these amounts are stated."""
    policy = policy_pb2.Policy(rows_are_people=True, game=policy_pb2.Game(**stated))
    policy.source.table = "t"
    policy.release.name = "released"
    policy.attributes.add(column="age", role=policy_pb2.ROLE_QUASI_IDENTIFIER).hierarchy.suppression_only.SetInParent()
    policy.privacy_models.add().profitability.SetInParent()
    policy.privacy_models.add().no_attack.SetInParent()
    policy.quality_model.publisher_payout.SetInParent()
    return policy


def faults_of(policy: policy_pb2.Policy) -> list[tuple[str, str]]:
    return [(fault.field, fault.found) for fault in policy_from_proto(policy)[1]]


def test_a_game_and_the_defaults_of_what_asks_for_it() -> None:
    policy, faults = policy_from_proto(policy_of(**STATED))
    assert faults == []
    assert policy is not None
    assert policy.game == Game(Decimal(1200), Decimal("300.50"), Decimal(300), Decimal(4))
    assert policy.privacy_models == (Profitability(Success.PROSECUTOR, BreakEven.KEEP), NoAttack(Success.PROSECUTOR))
    assert policy.quality_model == PublisherPayoutModel(Success.PROSECUTOR)
    assert policy.methods == ()
    assert policy_to_proto(policy).game.publisher_loss == "300.50"


@pytest.mark.parametrize("success", Success)
@pytest.mark.parametrize("break_even", BreakEven)
def test_every_success_there_and_back(success: Success, break_even: BreakEven) -> None:
    policy, _ = policy_from_proto(policy_of(**STATED))
    assert policy is not None
    models = (Profitability(success, break_even), NoAttack(success))
    asked = replace(policy, privacy_models=models, quality_model=PublisherPayoutModel(success))
    back, faults = policy_from_proto(policy_to_proto(asked))
    assert (back, faults) == (asked, [])


def test_a_game_that_is_missing() -> None:
    message = policy_of(**STATED)
    message.ClearField("game")
    assert faults_of(message) == [("game", "nothing")]


@pytest.mark.parametrize("left_out", STATED)
def test_every_amount_is_stated(left_out: str) -> None:
    stated = {name: text for name, text in STATED.items() if name != left_out}
    assert faults_of(policy_of(**stated)) == [(f"game.{left_out}", "nothing")]


def test_an_empty_game() -> None:
    assert faults_of(policy_of()) == [(f"game.{name}", "nothing") for name in STATED]


@pytest.mark.parametrize("text", ["1e3", "NaN", "inf", "-inf", "1_000", " 4", "4,5", "0x10", "1" * 51])
def test_amounts_that_are_no_plain_decimals(text: str) -> None:
    faults = faults_of(policy_of(**(STATED | {"adversary_cost": text})))
    assert [field for field, _ in faults] == ["game.adversary_cost"]


def test_what_is_stated_is_judged_beside_what_cannot_be_read() -> None:
    stated = STATED | {"publisher_benefit": "-1", "adversary_gain": "0", "adversary_cost": "free"}
    assert sorted(faults_of(policy_of(**stated))) == [
        ("game.adversary_cost", "'free'"),
        ("game.adversary_gain", "0"),
        ("game.publisher_benefit", "-1"),
    ]
    # The cost could be less than this.
    assert faults_of(policy_of(**(STATED | {"adversary_gain": "0.001", "adversary_cost": ""}))) == [
        ("game.adversary_cost", "nothing")
    ]


def test_variants_unknown_to_this_version() -> None:
    message = policy_of(**STATED)
    message.privacy_models[0].profitability.success = 99  # type: ignore[assignment]
    message.privacy_models[0].profitability.break_even = 98  # type: ignore[assignment]
    message.privacy_models[1].no_attack.success = 97  # type: ignore[assignment]
    message.quality_model.publisher_payout.success = 96  # type: ignore[assignment]
    assert sorted(faults_of(message)) == [
        ("privacy_models[0].profitability.break_even", "the unknown number 98"),
        ("privacy_models[0].profitability.success", "the unknown number 99"),
        ("privacy_models[1].no_attack.success", "the unknown number 97"),
        ("quality_model.publisher_payout.success", "the unknown number 96"),
    ]


def test_an_empty_record_level_is_one() -> None:
    message = policy_of(**STATED)
    message.record_level.SetInParent()
    for ask in (message.privacy_models[0].profitability, message.quality_model.publisher_payout):
        ask.success = policy_pb2.SUCCESS_JOURNALIST
    del message.privacy_models[1]
    policy, faults = policy_from_proto(message)
    assert faults == []
    assert policy is not None
    assert policy.methods == (RecordLevel(adversary_knows_method=False),)
