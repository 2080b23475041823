"""Aggregates: their results from weighted values, and that lower bounds of values give lower bounds of scores."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import Aggregate
from tableveil.quality import WeightedAggregate


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (Aggregate.GEOMETRIC_MEAN, ((1 + 0.5) * (1 + 0.25) * (1 + 0.0)) ** (1 / 3) - 1),
        (Aggregate.ARITHMETIC_MEAN, (0.5 + 0.25) / 3),
        (Aggregate.SUM, 0.75),
        (Aggregate.MAXIMUM, 0.5),
        (Aggregate.RANK, 0.5),
    ],
)
def test_reported_score_is_the_mean_sum_or_maximum(aggregate: Aggregate, expected: float) -> None:
    aggregation = WeightedAggregate(aggregate, (1.0, 1.0, 1.0))
    assert aggregation.reported(aggregation.score([0.25, 0.5, 0.0])) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (Aggregate.GEOMETRIC_MEAN, math.sqrt(2.0 * 1.0) - 1),
        (Aggregate.ARITHMETIC_MEAN, 0.5),
        (Aggregate.SUM, 1.0),
        (Aggregate.MAXIMUM, 1.0),
        (Aggregate.RANK, 1.0),
    ],
)
def test_weights_multiply_values(aggregate: Aggregate, expected: float) -> None:
    """A weight of 2 doubles, one of 0 silences, and the means still divide by the number of attributes."""
    aggregation = WeightedAggregate(aggregate, (2.0, 0.0))
    assert aggregation.reported(aggregation.score([0.5, 0.9])) == pytest.approx(expected, rel=1e-15)


def test_rank_compares_the_largest_first_then_the_next() -> None:
    rank = WeightedAggregate(Aggregate.RANK, (1.0, 1.0, 1.0))
    assert rank.score([0.1, 0.5, 0.3]) == (0.5, 0.3, 0.1)
    assert rank.score([0.5, 0.2, 0.2]) < rank.score([0.0, 0.3, 0.5])
    assert rank.score([0.5, 0.2, 0.2]) < rank.score([0.1, 0.2, 0.6])


@pytest.mark.parametrize("aggregate", list(Aggregate))
@given(data=st.data())
def test_monotone_in_every_value_in_floating_point_too(aggregate: Aggregate, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 6))
    value = st.floats(0, 1)
    lower = data.draw(st.lists(value, min_size=size, max_size=size))
    upper = [data.draw(st.floats(low, 1)) for low in lower]
    weights = data.draw(st.lists(st.floats(0, 1e6), min_size=size, max_size=size))
    aggregation = WeightedAggregate(aggregate, tuple(weights))
    assert aggregation.score(lower) <= aggregation.score(upper)
    assert aggregation.reported(aggregation.score(lower)) <= aggregation.reported(aggregation.score(upper))
