"""Requests of payout sweeps from messages, and their results as messages."""

import json
from datetime import datetime
from decimal import Decimal

import pytest

from tableveil.convert import canonical_json, result_name, result_number
from tableveil.convert.copied import duration
from tableveil.convert.payout_sweeps import payout_sweep_from_proto, payout_sweep_to_proto
from tableveil.errors import InvalidError
from tableveil.game.sweep import Among, SweepMethod, SweepPoint
from tableveil.policy import BreakEven, Game, LossModel, TableReference
from tableveil.requests.payout_sweep import DEFAULT_GAINS, SweptGains
from tableveil.state.jobs import JobKind
from tableveil.state.payout_sweeps import PayoutSweep
from tableveil.v1 import payout_service_pb2, policy_pb2
from tests.service.client.samples import playing


def asked(gains: list[str] | None = None, policy: policy_pb2.Policy | None = None) -> list[str]:
    request = payout_service_pb2.SubmitPayoutSweepRequest(policy=policy or playing(), gains=gains or [])
    _, swept, _, faults = payout_sweep_from_proto(request)
    assert (swept is None) is bool(faults)
    return [fault.field for fault in faults]


def test_what_is_asked() -> None:
    request = payout_service_pb2.SubmitPayoutSweepRequest(policy=playing(), gains=["10", "2.50"], if_method_known=True)
    policy, swept, document, faults = payout_sweep_from_proto(request)
    assert faults == []
    assert swept == SweptGains((Decimal("2.50"), Decimal(10)), True)
    assert policy is not None
    assert policy.game == Game(Decimal(1200), Decimal(0), Decimal(0), Decimal(4))
    assert json.loads(document)["game"] == {"publisher_benefit": "1200", "adversary_cost": "4"}
    request.ClearField("gains")
    assert payout_sweep_from_proto(request)[1] == SweptGains(DEFAULT_GAINS, True)


def test_local_recoding_has_no_game() -> None:
    message = playing()
    message.local_recoding.SetInParent()
    assert "local_recoding" in asked(policy=message)


def test_how_a_release_would_be_made_does_not_matter() -> None:
    message = playing()
    message.game.publisher_loss, message.game.adversary_gain = "300", "3"
    # Neither known, nor fit for anything.
    message.release.kind = 99  # type: ignore[assignment]
    message.suppression_limit = "7"
    message.suppressed_records.handling = policy_pb2.SUPPRESSED_RECORDS_HANDLING_KEEP
    message.record_level.adversary_knows_method = True
    message.risk_thresholds.append("x")
    message.search.strategy = policy_pb2.SEARCH_STRATEGY_ANYTIME
    message.attributes[0].weight = 2.0
    request = payout_service_pb2.SubmitPayoutSweepRequest(policy=message)
    policy, _, document, faults = payout_sweep_from_proto(request)
    assert faults == []
    assert policy is not None
    assert policy.methods == ()
    assert isinstance(policy.quality_model, LossModel)
    assert sorted(json.loads(document)) == [
        "attributes", "game", "privacy_models", "rows_are_people", "search", "source",
    ]  # fmt: skip
    # The message itself is the caller's.
    assert message.suppression_limit == "7"
    assert message.game.adversary_gain == "3"


def test_no_privacy_model_is_needed() -> None:
    message = playing()
    del message.privacy_models[:]
    assert asked(policy=message) == []


def test_all_faults_at_once() -> None:
    message = playing()
    message.privacy_models.add().k_anonymity.k = 5
    message.attributes[1].minimum_level = 1
    message.search.time_limit_seconds = "5"
    message.game.publisher_benefit = "0"
    assert asked(["1e3", "", "0.5", "-1", "0.50"], message) == [
        "attributes[1].minimum_level",
        "game.publisher_benefit",
        "privacy_models[1]",
        "search.time_limit_seconds",
        "gains[0]",
        "gains[1]",
        "gains[3]",
        "gains[4]",
    ]


def test_a_game_is_needed() -> None:
    message = playing()
    message.ClearField("game")
    assert asked(policy=message) == ["game"]
    del message.privacy_models[:]
    assert asked(policy=message) == ["game"]
    message.game.adversary_cost = "4"
    assert asked(["x"], message) == ["game.publisher_benefit", "gains[0]"]


def test_too_many_values_are_one_fault() -> None:
    assert asked(["x"] * 100_000) == ["gains"]


def test_payout_sweep_to_proto() -> None:
    sweep = PayoutSweep(
        number=3,
        job=7,
        created_at=datetime(2024, 2, 29, 12, 30, 15, 123456),
        source=TableReference("clinic", "main", "people"),
        source_fingerprint="abc",
        population_fingerprint="",
        records=100,
        population_records=None,
        quasi_identifiers=("age", "zip"),
        publisher_benefit=Decimal("1.2E+3"),
        adversary_cost=Decimal("0.000000001"),
        break_even=BreakEven.SUPPRESS,
        if_method_known=True,
        lattice_size="1" + "0" * 30,
        counted=17,
        sweep_seconds=0.5,
        seconds=1.5,
        policy=canonical_json(playing()),
        points=(
            SweepPoint(Decimal("1E+2"), SweepMethod.FULL_DOMAIN_NO_ATTACK, Among.SOURCE, -0.25, 3, 4, (1, 0)),
            SweepPoint(Decimal("0.5"), SweepMethod.RECORD_LEVEL, Among.POPULATION, 5.0, 0, 0, None, 0.0),
        ),
    )
    message = payout_sweep_to_proto(sweep)
    assert (message.name, message.job) == ("payoutSweeps/3", "jobs/7")
    assert message.create_time.ToJsonString() == "2024-02-29T12:30:15.123456Z"
    assert message.source == policy_pb2.TableReference(catalog="clinic", schema="main", table="people")
    assert (message.records, message.HasField("population_records")) == (100, False)
    assert (message.publisher_benefit, message.adversary_cost) == ("1200", "0.000000001")
    assert (message.break_even, message.if_method_known) == (policy_pb2.BREAK_EVEN_SUPPRESS, True)
    assert (message.lattice_size, message.transformations_counted) == (sweep.lattice_size, 17)
    assert (message.sweep_duration, message.duration) == (duration(0.5), duration(1.5))
    assert list(message.quasi_identifiers) == ["age", "zip"]
    assert message.policy == playing()
    assert (message.source_fingerprint, message.population_fingerprint) == ("abc", "")
    full_domain, record_level = message.points
    assert (full_domain.gain, full_domain.payout) == ("100", -0.25)
    assert full_domain.method == payout_service_pb2.PAYOUT_METHOD_FULL_DOMAIN_NO_ATTACK
    assert full_domain.among == payout_service_pb2.AMONG_SOURCE
    assert (full_domain.suppressed_records, full_domain.attacked_records) == (3, 4)
    assert list(full_domain.levels) == [1, 0]
    assert not full_domain.HasField("payout_if_method_known")
    assert record_level.among == payout_service_pb2.AMONG_POPULATION
    # Zero is not nothing.
    assert record_level.HasField("payout_if_method_known")


def test_names() -> None:
    assert result_number(JobKind.PAYOUT_SWEEP, result_name(JobKind.PAYOUT_SWEEP, 12)) == 12
    with pytest.raises(InvalidError):
        result_number(JobKind.PAYOUT_SWEEP, "jobs/12")
