"""Aggregated columns and microaggregation as messages say them: there and back, with the defaults of every scale."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.convert import policy_from_proto
from tableveil.policy import AggregateFunction, Aggregation, NullHandling, Policy, Scale
from tableveil.policy.aggregation import FITTING
from tableveil.policy.methods.microaggregation import ClosenessAlgorithm, Clustering, Microaggregation
from tableveil.v1 import policy_pb2
from tests.service.convert.policy_to_proto import policy_to_proto


def message() -> policy_pb2.Policy:
    """Microaggregation of one column, of which nothing is said but that."""
    policy = policy_pb2.Policy(rows_are_people=True)
    policy.source.table = "t"
    policy.release.name = "released"
    policy.attributes.add(column="age", role=policy_pb2.ROLE_QUASI_IDENTIFIER).aggregation.SetInParent()
    policy.privacy_models.add().k_anonymity.k = 2
    policy.microaggregation.SetInParent()
    return policy


def read(policy: policy_pb2.Policy) -> Policy:
    found, faults = policy_from_proto(policy)
    assert faults == []
    assert found is not None
    return found


def test_what_is_meant_if_nothing_is_said() -> None:
    policy = read(message())
    assert policy.methods == (Microaggregation(),)
    assert policy.quasi_identifiers == ()
    (age,) = policy.aggregated
    assert age.aggregation == Aggregation(AggregateFunction.MEAN, Scale.NUMERIC)
    assert age.nulls is NullHandling.ERROR
    assert policy_to_proto(policy).attributes == message().attributes


@pytest.mark.parametrize(("scale", "function"), [(scale, function) for scale in Scale for function in FITTING[scale]])
def test_every_function_there_and_back(scale: Scale, function: AggregateFunction) -> None:
    asked = message()
    if scale is Scale.NOMINAL:
        asked.attributes[0].hierarchy.suppression_only.SetInParent()
    asked.attributes[0].aggregation.scale = policy_pb2.Scale.Value(f"SCALE_{scale}")
    asked.attributes[0].aggregation.function = policy_pb2.AggregateFunction.Value(f"AGGREGATE_FUNCTION_{function}")
    if function is AggregateFunction.INTERVAL:
        asked.attributes[0].aggregation.grid = "0.50"
        asked.attributes[0].aggregation.bottom_coding = "18"
        asked.attributes[0].aggregation.top_coding = "90"
    policy = read(asked)
    aggregation = policy.attributes[0].aggregation
    assert aggregation is not None
    assert (aggregation.scale, aggregation.function) == (scale, function)
    if function is AggregateFunction.INTERVAL:
        assert aggregation.grid == Decimal("0.5")
        assert (aggregation.bottom_coding, aggregation.top_coding) == ("18", "90")
    assert read(policy_to_proto(policy)) == policy


@pytest.mark.parametrize("clustering", Clustering)
@pytest.mark.parametrize("closeness", ClosenessAlgorithm)
def test_every_way_to_cluster_there_and_back(clustering: Clustering, closeness: ClosenessAlgorithm) -> None:
    policy = replace(read(message()), methods=(Microaggregation(clustering, closeness, Decimal("0.25")),))
    assert read(policy_to_proto(policy)) == policy


@pytest.mark.parametrize("nulls", [NullHandling.ERROR, NullHandling.SUPPRESS])
def test_nulls_there_and_back(nulls: NullHandling) -> None:
    policy = read(message())
    asked = replace(policy, attributes=(replace(policy.attributes[0], nulls=nulls),))
    assert read(policy_to_proto(asked)) == asked


def test_numbers_that_are_no_plain_decimals() -> None:
    asked = message()
    asked.microaggregation.gain = "a little"
    asked.attributes[0].aggregation.function = policy_pb2.AGGREGATE_FUNCTION_INTERVAL
    asked.attributes[0].aggregation.grid = "1e3"
    _, faults = policy_from_proto(asked)
    fields = {(fault.field, fault.found) for fault in faults}
    assert ("microaggregation.gain", "'a little'") in fields
    assert ("attributes[0].aggregation.grid", "'1e3'") in fields
