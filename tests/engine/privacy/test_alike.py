"""A few own values whose records share one value, among many that do not: found unless chance makes as many."""

from __future__ import annotations

import numpy as np
import pytest

from tableveil.privacy.exposure.cells import Codes, chance_of_any, chance_of_one, counted
from tableveil.privacy.exposure.fits import fits_of_one

SEEDS = range(5)


def judged(own: Codes, value: Codes, labels: int = 1) -> tuple[bool, Codes]:
    """Whether some own value is held for independent, and those that are judged strictly."""
    cells = counted(own, value, None, int(own.max()) + 1, int(value.max()) + 1)
    excluding = fits_of_one(cells, np.arange(cells.owns) % labels, 1.0).excluding
    return bool(excluding.any()), np.flatnonzero(~excluding)


def villages(seed: int, codes: int, special: int, size: int, ordinary: int = 1_000) -> tuple[Codes, Codes]:
    """Villages of so many people; those from `ordinary` on share a code each."""
    numbers = np.random.default_rng(seed)
    own = np.repeat(np.arange(ordinary + special), size)
    value = numbers.integers(0, codes, len(own))
    value[ordinary * size :] = np.repeat(numbers.integers(0, codes, special), size)
    return own, value


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("codes", "size"), [(15, 3), (8, 4), (60, 2)])
def test_twenty_among_a_thousand_are_found(seed: int, codes: int, size: int) -> None:
    assert set(range(1_000, 1_020)) <= set(judged(*villages(seed, codes, 20, size), labels=2)[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_can_tell_them_from_chance_where_it_makes_as_many_alike(seed: int) -> None:
    """By chance 40 of 1,000 villages of three share one of five codes: the 20 pass, as the threats' page says."""
    own, value = villages(seed, 5, 20, 3)
    alike = np.bincount(own[np.unique(np.stack([own, value]), axis=1, return_index=True)[1]]) == 1
    assert alike[:1_000].sum() > 25
    assert not set(range(1_000, 1_020)) & set(judged(own, value)[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_towns_of_one_person_that_share_a_code_are_found(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    own = np.concatenate([np.repeat(np.arange(300), 40), np.arange(300, 360)])
    value = np.concatenate([numbers.integers(0, 5, 300 * 40), np.zeros(60, np.int64)])
    independent, strictly = judged(own, value)
    assert independent
    assert list(strictly) == list(range(300, 360))
    # One code in nine is another: nobody could be sure.
    value[-7:] = 1
    assert not len(judged(own, value)[1])


@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_independent_columns_are_never_judged_strictly(size: int) -> None:
    for seed in range(40):
        numbers = np.random.default_rng(seed)
        weights = numbers.exponential(size=int(numbers.integers(2, 40))) + 0.02
        own = np.repeat(np.arange(300 + 300 // size), np.repeat([40, size], [300, 300 // size]))
        value = numbers.choice(len(weights), len(own), p=weights / weights.sum())
        independent, strictly = judged(own, value)
        assert not (independent and len(strictly))


def test_chances_are_those_of_draws() -> None:
    """By all ways to give three of nine records to an own value."""
    values = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    under = counted(np.zeros(9, np.int64), values, None, 1, 3)
    three, nine = np.array([3]), np.array([9])
    assert chance_of_one(three, np.array([4]), nine) == pytest.approx([4 / 84])
    assert chance_of_one(three, np.array([2]), nine) == [0]
    assert chance_of_any(three, np.array([0]), under) == pytest.approx([5 / 84])
    assert chance_of_any(np.array([1]), np.array([0]), under) == pytest.approx([1])
