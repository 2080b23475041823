"""Safe Harbor's demands on a policy's columns and levels, with exact paths."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.hierarchy import HierarchyDefinition, SafeHarborAge, SafeHarborDate, SafeHarborZip
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.policy import (
    AttributePolicy,
    KAnonymity,
    Policy,
    ReleaseTarget,
    Role,
    SafeHarbor,
    SearchOptions,
    TableReference,
    validate_policy,
)

ZIPS = SafeHarborZip("", "main", "zip_codes")
POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("zip", Role.QUASI_IDENTIFIER, ZIPS),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, SafeHarborAge()),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
    ),
    person_column=None,
    privacy_models=(SafeHarbor(),),
    release=ReleaseTarget("main", "released"),
    suppression_limit=Decimal("0.05"),
)
LEVELS = (("zip", 1), ("age", 1), ("sex", 0))


def faults(policy: Policy) -> list[tuple[str, str]]:
    return [(fault.field, fault.expected) for fault in validate_policy(policy)]


def with_attribute(index: int, **changes: Any) -> Policy:
    attributes = list(POLICY.attributes)
    attributes[index] = replace(attributes[index], **changes)
    return replace(POLICY, attributes=tuple(attributes))


def searched(policy: Policy = POLICY, **options: Any) -> Policy:
    return replace(policy, search=SearchOptions(**options))


def test_safe_harbor_alone_is_a_policy() -> None:
    assert faults(POLICY) == []
    assert [POLICY.least_level(attribute) for attribute in POLICY.attributes] == [1, 1, 0]


def test_without_the_model_its_hierarchies_are_like_others() -> None:
    policy = replace(with_attribute(0, maximum_level=0), privacy_models=(KAnonymity(2),))
    assert faults(policy) == []
    assert [policy.least_level(attribute) for attribute in policy.attributes] == [0, 0, 0]


@pytest.mark.parametrize(("limits", "least"), [({"minimum_level": 3}, 3), ({"maximum_level": 1}, 1)])
def test_a_column_may_be_held_to_more(limits: dict[str, int], least: int) -> None:
    policy = with_attribute(0, **limits)
    assert faults(policy) == []
    assert policy.least_level(policy.attributes[0]) == least


def test_a_maximum_level_below_is_refused() -> None:
    expected = "at least 1, because of safe_harbor"
    assert faults(with_attribute(0, maximum_level=0)) == [("attributes[0].maximum_level", expected)]


def test_given_levels_below_are_refused() -> None:
    assert faults(searched(levels=LEVELS)) == []
    below = (("zip", 0), ("age", -1), ("sex", 0))
    assert faults(searched(levels=below)) == [
        (f"search.levels[{name}]", "at least 1, because of safe_harbor") for name in ("zip", "age")
    ]
    own = with_attribute(0, minimum_level=2)
    assert faults(searched(own, levels=LEVELS)) == [("search.levels[zip]", "at least minimum_level, 2")]


def test_linked_columns_need_a_level_in_common() -> None:
    linked = searched(linked=(("age", "sex"),))
    assert faults(linked) == []
    below = replace(with_attribute(2, maximum_level=0), search=linked.search)
    assert faults(below) == [("search.linked[0]", "columns with a level in common")]


def test_there_must_be_a_column() -> None:
    (fault,) = validate_policy(replace(POLICY, attributes=POLICY.attributes[2:]))
    assert fault.field == "privacy_models[0].safe_harbor"


def test_a_column_that_is_released_as_it_is_keeps_nothing() -> None:
    found = faults(with_attribute(0, role=Role.SENSITIVE))
    assert found == [("attributes[0].role", "QUASI_IDENTIFIER, because of safe_harbor")]


@pytest.mark.parametrize(
    ("hierarchy", "fields"),
    [
        (ZIPS, []),
        (replace(ZIPS, table=""), ["safe_harbor_zip.population.table"]),
        (replace(ZIPS, zip_column="population"), ["safe_harbor_zip.population_column"]),
        (SafeHarborDate("2020-01-01", "2024-12-31", "2024-12-31"), []),
        (SafeHarborDate("2020-01-01", "2019", "soon"), ["safe_harbor_date.maximum", "safe_harbor_date.birth_as_of"]),
        (SafeHarborDate("2020-01-01", "2019-12-31"), ["safe_harbor_date.maximum"]),
    ],
)
def test_definitions(hierarchy: HierarchyDefinition, fields: list[str]) -> None:
    found = [field for field, _ in faults(with_attribute(0, hierarchy=hierarchy))]
    assert found == [f"attributes[0].hierarchy.{field}" for field in fields]


def test_other_hierarchies_are_not_held_to_it() -> None:
    other = with_attribute(1, hierarchy=Intervals("0", "130", ("10",)), maximum_level=0)
    assert faults(other) == []
