"""The checks of a request for a frontier, and its policies."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.policy import (
    AttributePolicy,
    DistinctLDiversity,
    Inclusion,
    KAnonymity,
    Policy,
    ReleaseTarget,
    Role,
    TableReference,
)
from tableveil.requests.frontier import FrontierGrid, check_grid, check_pairs, k_of, with_k

POLICY = Policy(
    source=TableReference("", "main", "t"),
    attributes=(AttributePolicy("a", Role.SENSITIVE),),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "out"),
)


def fields(ks: list[int], limits: list[str | None]) -> list[str]:
    read = [None if text is None else Decimal(text) for text in limits]
    return [fault.field for fault in check_grid(ks, read)]


def test_what_makes_sense_has_no_faults() -> None:
    assert fields([20, 2, 2**31 - 1], ["1", "0", "0.05", "0.050000001"]) == []
    assert fields([], []) == []


@pytest.mark.parametrize(
    ("ks", "limits", "expected"),
    [
        ([1, 2, 0, -5], [], ["k[0]", "k[2]", "k[3]"]),
        ([2, 3, 2, 2], [], ["k[2]", "k[3]"]),
        ([], ["-0.01", "1.01"], ["suppression_limits[0]", "suppression_limits[1]"]),
        ([], ["0.1", "0.2", "0.10"], ["suppression_limits[2]"]),
        # A limit that could not be read hides no other fault.
        ([1], ["0.1", None, "7", None], ["k[0]", "suppression_limits[2]"]),
    ],
)
def test_every_fault_has_its_place(ks: list[int], limits: list[str | None], expected: list[str]) -> None:
    assert fields(ks, limits) == expected


@pytest.mark.parametrize(("ks", "limits"), [(0, 0), (400, 0), (0, 400), (400, 1), (20, 20)])
def test_as_many_pairs_as_allowed(ks: int, limits: int) -> None:
    assert check_pairs(ks, limits) == []


@pytest.mark.parametrize(
    ("ks", "limits", "field"), [(401, 0, "k"), (0, 401, "suppression_limits"), (401, 1, "k"), (20, 21, "k")]
)
def test_too_many_pairs(ks: int, limits: int, field: str) -> None:
    (fault,) = check_pairs(ks, limits)
    assert fault.field == field
    assert "400" in fault.expected


def test_the_grid_is_in_ascending_order() -> None:
    grid = FrontierGrid.of([5, 2, 10], [Decimal("0.1"), Decimal(0)])
    assert grid == FrontierGrid((2, 5, 10), (Decimal(0), Decimal("0.1")))


def test_k_takes_the_place_of_the_policys_own() -> None:
    assert k_of(POLICY) == 5
    assert with_k(POLICY, 7) == replace(POLICY, privacy_models=(KAnonymity(7),))
    assert k_of(replace(POLICY, privacy_models=())) is None


def test_other_models_stay_and_are_no_k() -> None:
    others = (Inclusion(), DistinctLDiversity("a", 3))
    policy = replace(POLICY, privacy_models=(others[0], KAnonymity(5), others[1]))
    assert k_of(policy) == 5
    assert with_k(policy, 7).privacy_models == (others[0], KAnonymity(7), others[1])
    assert k_of(replace(POLICY, privacy_models=others)) is None
