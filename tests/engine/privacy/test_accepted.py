"""Figures above what a policy accepts must be decided, and nothing else of these figures."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.errors import rank_of, undecided
from tableveil.policy import (
    DistinctLDiversity,
    Documentation,
    Dominance,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    Policy,
    PrivacyModel,
    ProbabilisticLDiversity,
    ReleaseTarget,
    TableReference,
    TCloseness,
)
from tableveil.privacy.accepted import above, accepted_by, is_granted
from tableveil.privacy.guarantees import SEVERAL_RECORDS, Guarantee


def policy(*models: PrivacyModel, stated: str = "") -> Policy:
    made = Policy(TableReference("", "main", "t"), (), None, models, ReleaseTarget("main", "out"))
    return replace(made, documentation=Documentation(risk_threshold=Decimal(stated) if stated else None))


@pytest.mark.parametrize(
    ("judged", "most", "words"),
    [
        (policy(KAnonymity(5), stated="0.09"), 0.09, "the policy accepts"),
        (policy(KAnonymity(5), Dominance(Decimal("0.25"))), 0.25, "dominance allows"),
        (policy(KAnonymity(5), KAnonymity(8)), 1 / 8, "k = 8 allows"),
        (policy(KMap(5)), 0.0, ""),
    ],
)
def test_a_statement_counts_before_models(judged: Policy, most: float, words: str) -> None:
    assert accepted_by(judged) == (most, words)
    # Equal is not above, however the quotients are rounded.
    assert not [*above(judged, most, ())]
    assert bool(undecided(above(judged, most + 1e-9, ()))) is bool(words)


@pytest.mark.parametrize("k", range(2, 100))
def test_the_least_class_is_never_above_its_own_k(k: int) -> None:
    assert not [*above(policy(KAnonymity(k)), 1 / k, ())]
    assert [*above(policy(KAnonymity(k)), 1 / (k - 1), ())]


@pytest.mark.parametrize(
    ("model", "granted"),
    [
        (DistinctLDiversity("x", 2), True),
        (DistinctLDiversity("x", 3), False),
        (ProbabilisticLDiversity("x", Decimal("1.9")), True),
        (EntropyLDiversity("x", Decimal("2.1")), False),
        (DistinctLDiversity("y", 2), None),
        (TCloseness("x", Decimal("0.2")), None),
    ],
)
def test_what_several_records_tell_is_held_against_the_models_of_its_column(
    model: PrivacyModel, granted: bool | None
) -> None:
    chance = Guarantee(SEVERAL_RECORDS, "x", "chance", None, 0.5)
    (warning,) = above(policy(model), 0.0, (chance, Guarantee("t_closeness", "x", "t", 1.0, 0.9)))
    assert "a value of 'x'" in warning
    assert "50.0%" in warning
    assert (rank_of(warning) == "MUST_BE_DECIDED") is (granted is not True)


def test_nothing_grants_a_chance_without_a_number_of_values() -> None:
    assert is_granted(0.1, ()) is None
