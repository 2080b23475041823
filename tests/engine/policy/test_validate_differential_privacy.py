"""Everything that differential privacy does not work with is refused by its field."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.hierarchy.definition import InlineLevels
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, LossRange, SuppressionOnly
from tableveil.policy import (
    Aggregate,
    AttributePolicy,
    DistinctLDiversity,
    EntropyModel,
    KAnonymity,
    LeftBehind,
    LossModel,
    NullHandling,
    Policy,
    Population,
    ReleaseGuards,
    ReleaseTarget,
    Role,
    SearchOptions,
    Strategy,
    SuppressedRecords,
    TableReference,
    early_warnings,
    validate_policy,
)
from tableveil.policy.methods.differential_privacy import DifferentialPrivacy
from tableveil.policy.methods.local_recoding import LocalRecoding

OPTIONS = DifferentialPrivacy(Decimal(1), Decimal("0.001"), scheme=(("age", 1), ("sex", 0)))
AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "100", ("10",)))
SEX = AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly())
SOUND = Policy(
    source=TableReference("", "main", "people"),
    attributes=(AGE, SEX),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "shown"),
    methods=(OPTIONS,),
)
LISTED = InlineLevels((("m", "*"), ("f", "*")))


def fields(**changes: Any) -> list[str]:
    return [fault.field for fault in validate_policy(replace(SOUND, **changes))]


def options(**changes: Any) -> list[str]:
    return fields(methods=(replace(OPTIONS, **changes),))


def target(**changes: Any) -> list[str]:
    return fields(release=replace(SOUND.release, **changes))


def test_a_sound_policy_has_no_faults() -> None:
    assert fields() == []
    assert options(scheme=(), search_epsilon=Decimal("0.1")) == []
    assert options(people=999) == []
    assert list(early_warnings(SOUND)) == []
    assert any(
        "weak" in text for text in early_warnings(replace(SOUND, methods=(replace(OPTIONS, epsilon=Decimal(11)),)))
    )


@pytest.mark.parametrize("epsilon", ["0", "-1", "101", "NaN", "Infinity"])
def test_epsilons_out_of_range(epsilon: str) -> None:
    assert options(epsilon=Decimal(epsilon)) == ["differential_privacy.epsilon"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"delta": Decimal(0)}, "delta"),
        ({"delta": Decimal(1)}, "delta"),
        ({"people": 1000}, "delta"),
        ({"people": -1}, "people"),
    ],
)
def test_deltas_out_of_range(changes: dict[str, Any], field: str) -> None:
    assert options(**changes) == [f"differential_privacy.{field}"]


def test_parts_of_epsilon_and_schemes() -> None:
    for part in ("0", "1", "2"):
        assert options(scheme=(), search_epsilon=Decimal(part)) == ["differential_privacy.search_epsilon"]
    assert options(scheme=()) == ["differential_privacy.scheme"]
    assert options(search_epsilon=Decimal("0.5")) == ["differential_privacy.scheme"]
    assert options(scheme=(("age", 1),)) == ["differential_privacy.scheme"]
    assert options(scheme=(("age", 1), ("sex", -1))) == ["differential_privacy.scheme['sex']"]
    assert options(scheme=(("age", 1), ("sex", 0), ("pay", 1))) == ["differential_privacy.scheme['pay']"]


def test_columns() -> None:
    for role in (Role.SENSITIVE, Role.INSENSITIVE):
        assert "attributes[2].role" in fields(attributes=(AGE, SEX, AttributePolicy("pay", role)))
    assert fields(attributes=(AGE, replace(SEX, nulls=NullHandling.ERROR))) == ["attributes[1].nulls"]
    listed = (AGE, replace(SEX, hierarchy=LISTED))
    assert fields(attributes=listed) == ["attributes[1].hierarchy"]
    public = replace(OPTIONS, public_lists=("sex",))
    assert fields(attributes=listed, methods=(public,)) == []
    ages = Intervals("0", "100", ("10",), loss_range=LossRange("20", "60"))
    spanned = (replace(AGE, hierarchy=ages), SEX)
    assert fields(attributes=spanned) == ["attributes[0].hierarchy.loss_range"]
    assert fields(attributes=spanned, methods=(replace(OPTIONS, public_lists=("age",)),)) == []
    counted = replace(AGE, hierarchy=Dates("2024-01-01", "2025-12-31", (DateUnit.MONTH,), loss_days=31))
    assert fields(attributes=(counted, SEX)) == ["attributes[0].hierarchy.loss_days"]
    assert options(public_lists=("pay",)) == ["differential_privacy.public_lists[0]"]
    assert fields(attributes=(replace(AGE, weight=0.0), replace(SEX, weight=0.0))) == ["attributes[0].weight"]


def test_other_parts_of_the_policy() -> None:
    assert "privacy_models[1]" in fields(privacy_models=(KAnonymity(2), DistinctLDiversity("sex", 2)))
    assert fields(quality_model=EntropyModel()) == ["quality_model"]
    assert fields(quality_model=LossModel(aggregate=Aggregate.MAXIMUM)) == ["quality_model.loss"]
    assert "differential_privacy" in fields(methods=(OPTIONS, LocalRecoding()))
    assert fields(suppression_limit=Decimal("0.1")) == ["suppression_limit"]
    assert fields(population=Population(size=10**6)) == ["population"]
    assert "source_query" in fields(source=TableReference("", "", ""), source_query="SELECT 1")
    assert "record_column" in fields(person_column="id", record_column="visit")
    assert fields(suppressed_records=SuppressedRecords.BLANK, marker_column="gone") == ["suppressed_records.handling"]
    assert fields(suppressed_records=SuppressedRecords.KEEP, marker_column="gone") == ["suppressed_records.handling"]
    for search in (SearchOptions(Decimal(9)), SearchOptions(seed=1), SearchOptions(strategy=Strategy.EXACT)):
        assert len(fields(search=search)) == 1
    assert target(class_id=True) == ["release.class_id"]
    assert "release.left_behind" in target(left_behind=LeftBehind.REPORT)
    assert "release.suppressed_by" in target(suppressed_by=("age",))
    assert "release.close_open_ends" in target(close_open_ends=True)
    assert target(guards=ReleaseGuards(minimum_records=5)) == ["release.guards"]
