"""The registry of methods: which a policy asks for, and the options that it hands to the parts of a method."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.policy import (
    AGGREGATED_COLUMNS,
    FULL_DOMAIN,
    LOCAL_RECODING,
    METHODS,
    MICROAGGREGATION,
    RECORD_LEVEL,
    Aggregation,
    AttributePolicy,
    DifferentialPrivacy,
    LocalRecoding,
    Microaggregation,
    Policy,
    RecordLevel,
    ReleaseTarget,
    Role,
    TableReference,
    methods_of,
)

AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER)
MEAN = AttributePolicy("age", Role.QUASI_IDENTIFIER, aggregation=Aggregation())
PLAIN = Policy(TableReference("", "main", "t"), (AGE,), None, (), ReleaseTarget("main", "released"))

OPTIONS: dict[str, Any] = {
    "differential_privacy": DifferentialPrivacy(Decimal(1), Decimal("1e-9")),
    "local_recoding": LocalRecoding(classes_of=3),
    "record_level": RecordLevel(adversary_knows_method=True),
    "microaggregation": Microaggregation(gain=Decimal(2)),
}


@pytest.mark.parametrize("field", OPTIONS)
def test_a_method_hands_out_its_options(field: str) -> None:
    asking = replace(PLAIN, **{field: OPTIONS[field]})
    (method,) = methods_of(asking)
    assert method.field == field
    assert method is asking.method
    assert method.options(asking) == OPTIONS[field]


def test_there_are_options_of_no_other_method() -> None:
    with pytest.raises(AssertionError, match="the policy asks for local recoding"):
        LOCAL_RECODING.options(replace(PLAIN, record_level=RecordLevel()))


def test_every_method_with_options_is_tried() -> None:
    assert {method.field for method in METHODS if method.field} == OPTIONS.keys() <= {of.name for of in fields(Policy)}


def test_methods_without_a_field() -> None:
    assert methods_of(PLAIN) == (FULL_DOMAIN,)
    assert FULL_DOMAIN.options(PLAIN) is None
    aggregated = replace(PLAIN, attributes=(AGE, MEAN))
    assert methods_of(aggregated) == (AGGREGATED_COLUMNS,)
    assert AGGREGATED_COLUMNS.options(aggregated) is None


def test_aggregated_columns_belong_to_microaggregation_if_it_is_asked_for() -> None:
    asking = replace(PLAIN, attributes=(MEAN,), microaggregation=Microaggregation())
    assert methods_of(asking) == (MICROAGGREGATION,)
    assert methods_of(replace(asking, record_level=RecordLevel())) == (RECORD_LEVEL, MICROAGGREGATION)
