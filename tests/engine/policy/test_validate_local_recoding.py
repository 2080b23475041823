"""Policies that ask for local recoding with what it cannot honour: each by its field."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    Aggregation,
    AttributePolicy,
    AverageRisk,
    DiscernibilityModel,
    Game,
    KAnonymity,
    KMap,
    NoAttack,
    NTCloseness,
    Policy,
    ReleaseTarget,
    Role,
    SearchOptions,
    Strategy,
    SuppressedRecords,
    TableReference,
    validate_policy,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.policy.methods.record_level import RecordLevel

SOUND = Policy(
    source=TableReference("", "main", "t"),
    attributes=(
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("zip", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE),
    ),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "out"),
    methods=(LocalRecoding((("sex", 1), ("zip", 2))),),
)


def fields(policy: Policy) -> set[str]:
    return {fault.field for fault in validate_policy(policy)}


def test_a_sound_policy() -> None:
    assert fields(SOUND) == set()


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (replace(SOUND, privacy_models=(KAnonymity(2), AverageRisk(Decimal("0.1")))), "privacy_models[1]"),
        (
            replace(SOUND, privacy_models=(KAnonymity(2), NTCloseness("illness", 9, Decimal("0.1")))),
            "privacy_models[1]",
        ),
        (replace(SOUND, privacy_models=(NoAttack(),), game=Game(*map(Decimal, (9, 9, 9, 1)))), "privacy_models[0]"),
        (
            replace(SOUND, attributes=(replace(SOUND.attributes[0], weight=1e308), *SOUND.attributes[1:])),
            "attributes[0].weight",
        ),
        (replace(SOUND, quality_model=DiscernibilityModel()), "quality_model"),
        (replace(SOUND, methods=(*SOUND.methods, RecordLevel())), "local_recoding"),
        (replace(SOUND, methods=(*SOUND.methods, Microaggregation())), "local_recoding"),
        (replace(SOUND, search=SearchOptions(strategy=Strategy.ANYTIME)), "search.strategy"),
        (replace(SOUND, search=SearchOptions(seed=7)), "search.seed"),
        (replace(SOUND, search=SearchOptions(levels=(("sex", 0), ("zip", 1)))), "search.levels"),
        (replace(SOUND, search=SearchOptions(linked=(("sex", "zip"),))), "search.linked"),
        (replace(SOUND, methods=(LocalRecoding((("sex", 0),)),)), "local_recoding.most_levels['sex']"),
        (replace(SOUND, methods=(LocalRecoding((("sexx", 1),)),)), "local_recoding.most_levels['sexx']"),
        (replace(SOUND, methods=(LocalRecoding((("illness", 1),)),)), "local_recoding.most_levels['illness']"),
    ],
)
def test_what_it_cannot_honour(policy: Policy, field: str) -> None:
    assert field in fields(policy)


def test_suppressed_records_cannot_be_kept_with_people_of_a_population() -> None:
    policy = replace(SOUND, suppressed_records=SuppressedRecords.KEEP, marker_column="gone")
    assert fields(policy) == set()
    assert "suppressed_records.handling" in fields(replace(policy, privacy_models=(KMap(2),)))


def test_no_column_can_be_aggregated() -> None:
    attributes = (*SOUND.attributes[:1], AttributePolicy("zip", Role.QUASI_IDENTIFIER, aggregation=Aggregation()))
    assert "local_recoding" in fields(replace(SOUND, attributes=attributes))
