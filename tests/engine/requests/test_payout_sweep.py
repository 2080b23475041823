"""The checks of a request for a payout sweep, and the parts of the policy that it uses."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.hierarchy import SafeHarborAge
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    AttributePolicy,
    BreakEven,
    Game,
    KAnonymity,
    NoAttack,
    Policy,
    Profitability,
    ReleaseTarget,
    Role,
    SafeHarbor,
    SearchOptions,
    Success,
    TableReference,
)
from tableveil.requests.payout_sweep import (
    DEFAULT_GAINS,
    SweptGains,
    check_gains,
    check_number,
    check_sweep,
    safe_harbor_of,
)

POLICY = Policy(
    source=TableReference("", "main", "t"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, SafeHarborAge(), minimum_level=2),
        AttributePolicy("name", Role.IDENTIFYING),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("race", Role.QUASI_IDENTIFIER, SuppressionOnly(), minimum_level=1),
    ),
    person_column=None,
    privacy_models=(),
    release=ReleaseTarget("main", "out"),
    game=Game(Decimal(1200), Decimal(0), Decimal(0), Decimal(4)),
)


def fields(gains: list[str | None]) -> list[str]:
    return [fault.field for fault in check_gains([None if text is None else Decimal(text) for text in gains])]


def test_what_makes_sense_has_no_faults() -> None:
    assert fields(["2000", "0", "0.000000001", "1000000000000", "3.9"]) == []
    assert fields([]) == []


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        (["-1", "5", "-0.1"], ["gains[0]", "gains[2]"]),
        (["1000000000000.1", "1.0000000001", "0.0000000001"], ["gains[0]", "gains[1]", "gains[2]"]),
        (["0.1", "0.2", "0.10"], ["gains[2]"]),
        # A value that could not be read hides no other fault.
        ([None, "-7", None], ["gains[1]"]),
    ],
)
def test_every_fault_has_its_place(gains: list[str | None], expected: list[str]) -> None:
    assert fields(gains) == expected


def test_as_many_values_as_allowed() -> None:
    assert list(check_number(200)) == []
    (fault,) = check_number(201)
    assert fault.field == "gains"
    assert "200" in fault.expected


def test_the_gains_are_in_ascending_order_and_have_defaults() -> None:
    assert SweptGains.of([Decimal(5), Decimal(0)], True) == SweptGains((Decimal(0), Decimal(5)), True)
    assert SweptGains.of([]).gains == DEFAULT_GAINS
    assert DEFAULT_GAINS[:2] + DEFAULT_GAINS[-1:] == (Decimal(0), Decimal(100), Decimal(2000))
    assert len(DEFAULT_GAINS) == 21


def test_policies_that_can_be_swept() -> None:
    models = (Profitability(Success.PROSECUTOR), Profitability(Success.JOURNALIST), NoAttack(), SafeHarbor())
    for chosen in ((), models):
        assert list(check_sweep(replace(POLICY, privacy_models=chosen))) == []


def test_policies_that_cannot() -> None:
    policy = replace(
        POLICY,
        game=None,
        privacy_models=(NoAttack(), KAnonymity(5), Profitability(Success.MARKETER), NoAttack(Success.MARKETER)),
        search=SearchOptions(time_limit_seconds=Decimal(5)),
    )
    assert [fault.field for fault in check_sweep(policy)] == [
        "game",
        "privacy_models[1]",
        "privacy_models[2].profitability.success",
        "privacy_models[3].no_attack.success",
        "search.time_limit_seconds",
    ]


def test_what_breaks_even_is_kept_unless_a_model_says_otherwise() -> None:
    kept = Profitability(Success.JOURNALIST)
    strict = Profitability(Success.PROSECUTOR, BreakEven.SUPPRESS)
    for models, expected in (
        ((), BreakEven.KEEP),
        ((kept, NoAttack()), BreakEven.KEEP),
        ((kept, strict), BreakEven.SUPPRESS),
    ):
        assert replace(POLICY, privacy_models=models).break_even is expected


def test_safe_harbor_alone_takes_its_own_levels_and_else_the_least() -> None:
    assert safe_harbor_of(POLICY) == (1, 0, 1)
    assert safe_harbor_of(replace(POLICY, attributes=POLICY.attributes[1:])) is None
