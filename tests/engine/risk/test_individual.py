"""Individual risks: by summing the negative binomial distribution itself, by the papers' formulas, at their limits."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.risk import Frequencies, WeightFacts, check_weights, individual_risk, individual_risks


def risk(records: int, weight: float) -> float:
    return float(individual_risks(np.array([records]), np.array([weight]))[0])


def expected_reciprocal(records: int, share: float) -> float:
    """E(1 / F), F people until the sample has `records` of them, each sampled with probability `share`."""
    probability = share**records
    terms, people = [], records
    # More than twelve standard deviations above the mean.
    while people < (2 * records + 40) / share:
        terms.append(probability / people)
        probability *= (1 - share) * people / (people - records + 1)
        people += 1
    return math.fsum(terms)


@given(st.integers(1, 60), st.floats(0.02, 1.0))
def test_expectation_of_the_negative_binomial(records: int, share: float) -> None:
    assert risk(records, records / share) == pytest.approx(expected_reciprocal(records, share), rel=1e-11)


@given(st.floats(0.001, 0.95))
def test_formulas_for_few_records(share: float) -> None:
    """Franconi and Polettini 2004, for one, two and three records of the sample."""
    missed = 1 - share
    one = share / missed * -math.log(share)
    two = share / missed**2 * (share * math.log(share) + missed)
    three = share / (2 * missed**3) * (missed * (3 * missed - 2) - 2 * share**2 * math.log(share))
    # The formulas lose digits where a share near 1 is taken from 1.
    assert risk(1, 1 / share) == pytest.approx(one, rel=1e-12)
    assert risk(2, 2 / share) == pytest.approx(two, rel=1e-10)
    assert risk(3, 3 / share) == pytest.approx(three, rel=1e-8)


def test_whole_population_sampled() -> None:
    assert risk(1, 1.0) == 1.0
    assert risk(4, 4.0) == 0.25
    # Less than the records themselves: they are people, whatever the weights say.
    assert risk(4, 3.0) == 0.25


@pytest.mark.parametrize("records", [1, 2, 39, 40, 10**6])
def test_neither_end_of_the_shares_breaks(records: int) -> None:
    weights = records * np.concatenate(
        (1 + np.logspace(-16, -1, 50), np.linspace(1.1, 3, 50), np.logspace(0.5, 12, 50))
    )
    risks = individual_risks(np.full(len(weights), records), weights)
    assert (risks > 0).all()
    assert (risks <= 1 / records).all()
    # The more people a record stands for, the less its risk; up to rounding.
    assert (np.diff(risks) <= 1e-14 / records).all()


@given(st.integers(2, 10**6), st.floats(1.0, 1e9))
def test_many_records_come_near_the_share(records: int, weight: float) -> None:
    """By Jensen's inequality at least 1 / E(F); and no more than 1 / E(F - 1) corrected for it."""
    found = risk(records, records * weight)
    assert 1 / (records * weight) * (1 - 1e-12) <= found <= 1 / (weight * (records - 1))


def test_pieces_are_put_together() -> None:
    """More combinations than are computed at a time; each as it is alone."""
    rng = np.random.default_rng(1)
    records = rng.choice([1, 2, 50], 150_000)
    weights = records * rng.choice([1.0, 1.5, 9.0], 150_000)
    risks = individual_risks(records, weights)
    for size in (1, 2, 50):
        for weight in (1.0, 1.5, 9.0):
            chosen = risks[(records == size) & (weights == size * weight)]
            assert len(chosen)
            assert (chosen == risk(size, size * weight)).all()


def test_summary() -> None:
    records, weights = np.array([1, 2, 5]), np.array([1.0, 20.0, 5.0])
    frequencies = Frequencies((), (), records, weights=weights)
    found = individual_risk(frequencies, [Decimal("0.2"), Decimal("0.1")])
    pair = risk(2, 20.0)
    assert 0 < pair < 0.1
    assert found.highest == 1.0
    assert found.expected == pytest.approx(1 + 2 * pair + 1)
    assert found.average == pytest.approx((2 + 2 * pair) / 8)
    assert found.records_at_risk == ((Decimal("0.2"), 1), (Decimal("0.1"), 6))


def test_no_records() -> None:
    frequencies = Frequencies((), (), np.zeros(0, np.int64), weights=np.zeros(0))
    found = individual_risk(frequencies, [Decimal("0.2")])
    assert (found.highest, found.average, found.expected, found.records_at_risk) == (0, 0, 0, ((Decimal("0.2"), 0),))


def test_no_weights() -> None:
    with pytest.raises(ValueError, match="no weights"):
        individual_risk(Frequencies((), (), np.ones(1, np.int64)), [])


def test_bad_weights_are_said() -> None:
    assert list(check_weights("weight", WeightFacts(0, 0, 0))) == []
    faults = list(check_weights("weight", WeightFacts(null=2, not_finite=3, below_one=4)))
    assert [fault.field for fault in faults] == ["weight"] * 3
    assert [fault.found[0] for fault in faults] == ["2", "3", "4"]
    assert "NULL" in faults[0].found
    assert "negative" in faults[2].found
