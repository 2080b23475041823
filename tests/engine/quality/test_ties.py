"""Scores that are equal by definition are equal as numbers, whatever the order of the attributes."""

import itertools

import pytest

from tableveil.policy import Aggregate
from tableveil.quality import WeightedAggregate

VALUES = (1 / 3, 0.1, 2 / 3, 0.7, 1e-9)


@pytest.mark.parametrize("aggregate", list(Aggregate))
def test_the_order_of_attributes_changes_no_score(aggregate: Aggregate) -> None:
    aggregation = WeightedAggregate(aggregate, (1.0,) * len(VALUES))
    assert len({aggregation.score(values) for values in itertools.permutations(VALUES)}) == 1
