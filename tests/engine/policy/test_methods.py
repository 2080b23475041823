"""The registry of methods: which a policy asks for, and the options that it hands to the parts of a method."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.policy import (
    METHODS,
    Aggregation,
    AttributePolicy,
    Policy,
    RelatedTables,
    ReleaseTarget,
    Role,
    TableReference,
    methods_of,
)
from tableveil.policy.methods.aggregated_columns import AGGREGATED_COLUMNS
from tableveil.policy.methods.differential_privacy import DifferentialPrivacy
from tableveil.policy.methods.full_domain import FULL_DOMAIN
from tableveil.policy.methods.local_recoding import LOCAL_RECODING, LocalRecoding
from tableveil.policy.methods.microaggregation import MICROAGGREGATION, Microaggregation
from tableveil.policy.methods.record_level import RECORD_LEVEL, RecordLevel

AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER)
MEAN = AttributePolicy("age", Role.QUASI_IDENTIFIER, aggregation=Aggregation())
PLAIN = Policy(TableReference("", "main", "t"), (AGE,), None, (), ReleaseTarget("main", "released"))

OPTIONS: dict[str, Any] = {
    "tables": RelatedTables(()),
    "differential_privacy": DifferentialPrivacy(Decimal(1), Decimal("1e-9")),
    "local_recoding": LocalRecoding(classes_of=3),
    "record_level": RecordLevel(adversary_knows_method=True),
    "microaggregation": Microaggregation(gain=Decimal(2)),
}


@pytest.mark.parametrize("field", OPTIONS)
def test_a_method_hands_out_its_options(field: str) -> None:
    asking = replace(PLAIN, methods=(OPTIONS[field],))
    (method,) = methods_of(asking)
    assert method.field == field
    assert method is asking.method
    assert method.options(asking) == OPTIONS[field]


def test_there_are_options_of_no_other_method() -> None:
    with pytest.raises(AssertionError, match="the policy asks for local recoding"):
        LOCAL_RECODING.options(replace(PLAIN, methods=(RecordLevel(),)))


def test_every_method_with_options_is_tried() -> None:
    assert {method.field for method in METHODS if method.field} == OPTIONS.keys()


def test_methods_without_a_field() -> None:
    assert methods_of(PLAIN) == (FULL_DOMAIN,)
    assert FULL_DOMAIN.options(PLAIN) is None
    aggregated = replace(PLAIN, attributes=(AGE, MEAN))
    assert methods_of(aggregated) == (AGGREGATED_COLUMNS,)
    assert AGGREGATED_COLUMNS.options(aggregated) is None


def test_aggregated_columns_belong_to_microaggregation_if_it_is_asked_for() -> None:
    asking = replace(PLAIN, attributes=(MEAN,), methods=(Microaggregation(),))
    assert methods_of(asking) == (MICROAGGREGATION,)
    assert methods_of(replace(asking, methods=(*asking.methods, RecordLevel()))) == (RECORD_LEVEL, MICROAGGREGATION)
