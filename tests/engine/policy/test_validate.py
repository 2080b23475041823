"""Every fault of a policy is found, with its exact path, and all at once."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.hierarchy import InlineLevels, Intervals, Redaction, StoredLevels, SuppressionOnly, TableLevels
from tableveil.policy import (
    AttributePolicy,
    KAnonymity,
    NullHandling,
    Policy,
    ReleaseTarget,
    Role,
    SearchOptions,
    SuppressedRecords,
    TableReference,
    validate_policy,
)

AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10",)))
SEX = AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly())
NAME = AttributePolicy("name", Role.IDENTIFYING)
ILLNESS = AttributePolicy("illness", Role.SENSITIVE)
WARD = AttributePolicy("ward", Role.INSENSITIVE)

SOUND = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(AGE, SEX, NAME, ILLNESS, WARD),
    person_column="name",
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "released"),
    suppression_limit=Decimal("0.05"),
)


def fields(policy: Policy) -> list[str]:
    return [fault.field for fault in validate_policy(policy)]


def with_attribute(index: int, **changes: Any) -> Policy:
    attributes = list(SOUND.attributes)
    attributes[index] = replace(attributes[index], **changes)
    return replace(SOUND, attributes=tuple(attributes))


def test_a_sound_policy_has_no_faults() -> None:
    assert validate_policy(SOUND) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"suppression_limit": Decimal(1)},
        {"suppression_limit": Decimal(0)},
        {"suppression_limit": Decimal("-0.0")},
        {"privacy_models": (KAnonymity(2),)},
        {"privacy_models": (KAnonymity(2**31 - 1),)},
        {"risk_thresholds": ()},
        {"search": SearchOptions(Decimal("0.001"))},
        {"person_column": None},
        {"default_role": Role.INSENSITIVE},
        {"suppressed_records": SuppressedRecords.BLANK, "marker_column": "suppressed"},
    ],
)
def test_what_is_allowed_at_the_edge(changes: dict[str, Any]) -> None:
    assert validate_policy(replace(SOUND, **changes)) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"source": TableReference("", "main", "")}, ["source.table"]),
        ({"release": ReleaseTarget("main", "")}, ["release.name"]),
        ({"attributes": (NAME, ILLNESS)}, ["attributes"]),
        ({"attributes": (), "person_column": None}, ["attributes"]),
        ({"attributes": (AGE, NAME, AGE)}, ["attributes[0].column", "attributes[2].column"]),
        ({"attributes": (AGE, NAME, replace(AGE, column="AGE"))}, ["attributes[0].column", "attributes[2].column"]),
        ({"default_role": Role.QUASI_IDENTIFIER}, ["default_role"]),
        ({"person_column": ""}, ["person_column"]),
        ({"person_column": "age"}, ["attributes[0].role"]),
        ({"person_column": "ward"}, ["attributes[4].role"]),
        ({"person_column": "id", "default_role": Role.INSENSITIVE}, ["person_column"]),
        ({"privacy_models": ()}, ["privacy_models"]),
        ({"privacy_models": (KAnonymity(1),)}, ["privacy_models[0].k_anonymity.k"]),
        ({"privacy_models": (KAnonymity(0),)}, ["privacy_models[0].k_anonymity.k"]),
        ({"privacy_models": (KAnonymity(-5),)}, ["privacy_models[0].k_anonymity.k"]),
        ({"privacy_models": (KAnonymity(2**31),)}, ["privacy_models[0].k_anonymity.k"]),
        ({"privacy_models": (KAnonymity(3), KAnonymity(4))}, ["privacy_models[1]"]),
        ({"marker_column": "m"}, ["suppressed_records.marker_column"]),
        ({"suppressed_records": SuppressedRecords.BLANK}, ["suppressed_records.marker_column"]),
        (
            {"suppressed_records": SuppressedRecords.BLANK, "marker_column": "Ward"},
            ["suppressed_records.marker_column"],
        ),
        ({"suppression_limit": Decimal("1.0000000000000000000000000001")}, ["suppression_limit"]),
        ({"suppression_limit": Decimal("-0.1")}, ["suppression_limit"]),
        ({"suppression_limit": Decimal("NaN")}, ["suppression_limit"]),
        ({"suppression_limit": Decimal("Infinity")}, ["suppression_limit"]),
        ({"risk_thresholds": (Decimal("0.1"), Decimal(0), Decimal(1))}, ["risk_thresholds[1]", "risk_thresholds[2]"]),
        ({"risk_thresholds": (Decimal("NaN"),)}, ["risk_thresholds[0]"]),
        ({"risk_thresholds": (Decimal("0.2"), Decimal("0.20"))}, ["risk_thresholds[1]"]),
        ({"search": SearchOptions(Decimal(0))}, ["search.time_limit_seconds"]),
        ({"search": SearchOptions(Decimal("-1"))}, ["search.time_limit_seconds"]),
        ({"search": SearchOptions(Decimal("Infinity"))}, ["search.time_limit_seconds"]),
        ({"search": SearchOptions(Decimal("NaN"))}, ["search.time_limit_seconds"]),
    ],
)
def test_faults_of_the_policy(changes: dict[str, Any], expected: list[str]) -> None:
    assert fields(replace(SOUND, **changes)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"column": ""}, ["attributes[0].column"]),
        ({"hierarchy": None}, ["attributes[0].hierarchy"]),
        ({"minimum_level": -1}, ["attributes[0].minimum_level"]),
        ({"maximum_level": -1}, ["attributes[0].maximum_level"]),
        ({"minimum_level": 2, "maximum_level": 1}, ["attributes[0].maximum_level"]),
        ({"weight": -0.1}, ["attributes[0].weight"]),
        ({"weight": math.nan}, ["attributes[0].weight"]),
        ({"weight": math.inf}, ["attributes[0].weight"]),
        ({"acknowledged": True}, ["attributes[0].acknowledged"]),
        ({"hierarchy": StoredLevels("")}, ["attributes[0].hierarchy.stored.name"]),
        ({"hierarchy": StoredLevels("ages", -1)}, ["attributes[0].hierarchy.stored.version"]),
        ({"hierarchy": TableLevels("", "main", "")}, ["attributes[0].hierarchy.table.table.table"]),
        ({"hierarchy": TableLevels("", "main", "h", ("a",))}, ["attributes[0].hierarchy.table.columns"]),
        (
            {"hierarchy": TableLevels("", "main", "h", ("a", "b", "a"))},
            ["attributes[0].hierarchy.table.columns[2]"],
        ),
        ({"hierarchy": InlineLevels(())}, ["attributes[0].hierarchy.inline.rows"]),
        (
            {"hierarchy": InlineLevels((("1", "*"), ("1", "*"), ("2", "*", "*")))},
            ["attributes[0].hierarchy.inline.rows[2]", "attributes[0].hierarchy.inline.rows[1].labels[0]"],
        ),
        ({"hierarchy": InlineLevels((("1", "*"), ("2", "+")))}, ["attributes[0].hierarchy.inline.rows[1].labels[1]"]),
        ({"hierarchy": Intervals("0", "x", ("5",))}, ["attributes[0].hierarchy.intervals.maximum"]),
        (
            {"hierarchy": Redaction(0, 1)},
            [f"attributes[0].hierarchy.redaction.{name}" for name in ("length", "alphabet_size")],
        ),
    ],
)
def test_faults_of_a_quasi_identifier(changes: dict[str, Any], expected: list[str]) -> None:
    assert fields(with_attribute(0, **changes)) == expected


@pytest.mark.parametrize("index", [2, 3, 4])
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"hierarchy": SuppressionOnly()}, "hierarchy"),
        ({"minimum_level": 1}, "minimum_level"),
        ({"maximum_level": 0}, "maximum_level"),
        ({"weight": 2.0}, "weight"),
        ({"nulls": NullHandling.SUPPRESS}, "nulls"),
    ],
)
def test_options_of_quasi_identifiers_mean_nothing_for_others(index: int, changes: dict[str, Any], field: str) -> None:
    assert fields(with_attribute(index, **changes)) == [f"attributes[{index}].{field}"]


@pytest.mark.parametrize(("index", "faults"), [(2, 1), (3, 1), (4, 0)])
def test_only_insensitive_columns_are_acknowledged(index: int, faults: int) -> None:
    assert fields(with_attribute(index, acknowledged=True)) == [f"attributes[{index}].acknowledged"] * faults


def test_all_faults_are_reported_at_once() -> None:
    policy = replace(
        with_attribute(0, hierarchy=None, weight=math.nan),
        source=TableReference("", "main", ""),
        person_column="ward",
        privacy_models=(KAnonymity(1),),
        marker_column="m",
        suppression_limit=Decimal(2),
        risk_thresholds=(Decimal(7),),
    )
    assert fields(policy) == [
        "source.table",
        "attributes[0].hierarchy",
        "attributes[0].weight",
        "attributes[4].role",
        "privacy_models[0].k_anonymity.k",
        "suppressed_records.marker_column",
        "suppression_limit",
        "risk_thresholds[0]",
    ]


def test_names_of_10_000_characters_are_cut_in_messages() -> None:
    policy = replace(SOUND, attributes=(replace(AGE, column="x" * 10_000),) * 2 + (NAME,))
    faults = validate_policy(policy)
    assert [fault.field for fault in faults] == ["attributes[0].column", "attributes[1].column"]
    assert all(len(str(fault)) < 500 for fault in faults)
