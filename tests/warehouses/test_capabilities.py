"""Wishes that Spark cannot fulfil are refused by the names of their fields, before anything is read."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.policy import Aggregation, AttributePolicy, Game, LeftBehind, Policy, ReleaseKind, Role
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.policy.methods.record_level import RecordLevel
from tableveil.spark.types import unsupported
from tests.service.jobs.elsewhere import POLICY

RELEASE = POLICY.release
MONEY = Decimal(1)


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (replace(POLICY, methods=(Microaggregation(),)), "microaggregation"),
        (
            replace(POLICY, attributes=(AttributePolicy("a", Role.QUASI_IDENTIFIER, aggregation=Aggregation()),)),
            "attributes[0].aggregation",
        ),
        (replace(POLICY, source_query="SELECT 1"), "source_query"),
        (replace(POLICY, person_column="id"), "no_person_digests"),
        (replace(POLICY, release=replace(RELEASE, kind=ReleaseKind.VIEW)), "release.kind"),
        (replace(POLICY, release=replace(RELEASE, publish=("shelf",))), "release.publish"),
        (replace(POLICY, release=replace(RELEASE, left_behind=LeftBehind.REPORT)), "release.left_behind"),
    ],
)
def test_refused_by_name(policy: Policy, field: str) -> None:
    (fault,) = unsupported(policy)
    assert fault.field == field
    assert fault.found
    assert fault.expected
    assert fault.hint


def test_all_else_is_taken() -> None:
    insensitive = AttributePolicy("a", Role.INSENSITIVE)
    person = replace(POLICY, person_column="id", no_person_digests=True, attributes=(insensitive,))
    assert unsupported(POLICY) == unsupported(person) == []
    played = replace(POLICY, game=Game(MONEY, MONEY, MONEY, MONEY))
    combined = (replace(POLICY, methods=(LocalRecoding(),)), replace(played, methods=(RecordLevel(),)))
    assert [unsupported(policy) for policy in (played, *combined)] == [[], [], []]


def test_every_fault_at_once() -> None:
    asked = replace(POLICY, source_query="SELECT 1", release=replace(RELEASE, publish=("shelf",)))
    assert [fault.field for fault in unsupported(asked)] == ["source_query", "release.publish"]
