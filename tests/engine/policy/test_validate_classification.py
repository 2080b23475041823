"""Optimizing for classification needs columns that can be predicted or predict, and penalties with an effect."""

from dataclasses import replace
from typing import Any

import pytest

from tableveil.errors import Fault
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    Aggregation,
    AttributePolicy,
    Choose,
    ClassificationModel,
    DistinctLDiversity,
    KAnonymity,
    NullHandling,
    Policy,
    ReleaseTarget,
    Role,
    SearchOptions,
    TableReference,
    check_classified_columns,
    validate_policy,
)

SOUND = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, nulls=NullHandling.ERROR, aggregation=Aggregation()),
        AttributePolicy("name", Role.IDENTIFYING),
        AttributePolicy("salary", Role.SENSITIVE),
        AttributePolicy("hours", Role.INSENSITIVE),
    ),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "released"),
    quality_model=ClassificationModel(("salary",)),
)


def faults(classes: tuple[str, ...], features: tuple[str, ...] = ()) -> list[Fault]:
    return validate_policy(replace(SOUND, quality_model=ClassificationModel(classes, features)))


def fields(**penalties: float) -> list[str]:
    model = ClassificationModel(("salary",), (), **penalties)
    found = validate_policy(replace(SOUND, quality_model=model))
    return [fault.field.removeprefix("quality_model.classification") for fault in found]


@pytest.mark.parametrize(
    ("classes", "features"),
    [
        (("salary",), ()),
        (("salary", "hours"), ()),
        (("hours",), ("sex",)),
        (("salary",), ("hours", "sex")),
        (("salary",), ("hours",)),
    ],
)
def test_what_is_released_can_be_told_and_told_by(classes: tuple[str, ...], features: tuple[str, ...]) -> None:
    assert faults(classes, features) == []


@pytest.mark.parametrize(
    ("classes", "features", "field", "found"),
    [
        ((), (), ".classes", "nothing"),
        (("sex",), (), ".classes[0]", "'sex' of the role QUASI_IDENTIFIER"),
        (("salary", "name"), (), ".classes[1]", "'name' of the role IDENTIFYING"),
        (("age",), (), ".classes[0]", "'age', whose values are aggregated"),
        (("celery",), (), ".classes[0]", "'celery', which is no column of the policy"),
        (("salary", "salary"), (), ".classes[1]", "'salary' more than once"),
        (("salary",), ("name",), ".features[0]", "'name' of the role IDENTIFYING"),
        (("salary",), ("sex", "age"), ".features[1]", "'age', whose values are aggregated"),
        (("salary",), ("hour",), ".features[0]", "'hour', which is no column of the policy"),
        (("salary",), ("sex", "hours", "sex"), ".features[2]", "'sex' more than once"),
        (("salary",), ("salary",), ".features[0]", "'salary', which is to be told"),
    ],
)
def test_columns_that_cannot(classes: tuple[str, ...], features: tuple[str, ...], field: str, found: str) -> None:
    (fault,) = faults(classes, features)
    assert (fault.field, fault.found) == (f"quality_model.classification{field}", found)
    assert fault.expected


def test_a_name_that_is_almost_right_gets_a_hint() -> None:
    (fault,) = faults(("salry",))
    assert fault.hint == "Did you mean 'salary'?"


@pytest.mark.parametrize("role", [Role.SENSITIVE, Role.INSENSITIVE])
def test_columns_may_have_their_role_by_default(role: Role) -> None:
    policy = replace(SOUND, default_role=role, quality_model=ClassificationModel(("income",), ("hours", "city")))
    assert validate_policy(policy) == []
    # Once all columns of the source are in the policy, they must be among them.
    listed = AttributePolicy("income", role, listed=False)
    resolved = replace(policy, attributes=(*policy.attributes, listed))
    (fault,) = check_classified_columns(resolved, complete=True)
    assert fault.field == "quality_model.classification.features[1]"


def test_a_default_role_that_hides_columns_hides_classes() -> None:
    policy = replace(SOUND, default_role=Role.IDENTIFYING, quality_model=ClassificationModel(("income",)))
    assert [fault.field for fault in validate_policy(policy)] == ["quality_model.classification.classes[0]"]


def blindly(model: ClassificationModel, **changes: Any) -> Policy:
    """A policy that chooses without looking at sensitive values, but for its quality model."""
    models = (KAnonymity(5), DistinctLDiversity("salary", 2))
    search = SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY)
    return replace(SOUND, quality_model=model, privacy_models=models, search=search, **changes)


@pytest.mark.parametrize(
    ("model", "field"),
    [
        (ClassificationModel(("salary",)), "classes[0]"),
        (ClassificationModel(("hours", "salary")), "classes[1]"),
        (ClassificationModel(("hours",), ("sex", "salary")), "features[1]"),
    ],
)
def test_sensitive_columns_choose_nothing_where_only_quasi_identifiers_may(
    model: ClassificationModel, field: str
) -> None:
    (fault,) = validate_policy(blindly(model))
    assert fault.field == f"quality_model.classification.{field}"
    assert "QUASI_IDENTIFIERS_ONLY" in fault.found
    assert "ALL_MODELS" in fault.hint


def test_insensitive_columns_may_choose_where_only_quasi_identifiers_may() -> None:
    assert validate_policy(blindly(ClassificationModel(("hours",), ("sex",)))) == []


def test_a_column_that_is_sensitive_by_default_chooses_nothing_either() -> None:
    policy = blindly(ClassificationModel(("income",)), default_role=Role.SENSITIVE)
    assert validate_policy(policy) == []
    resolved = replace(policy, attributes=(*policy.attributes, AttributePolicy("income", Role.SENSITIVE, listed=False)))
    (fault,) = check_classified_columns(resolved, complete=True)
    assert fault.field == "quality_model.classification.classes[0]"


@pytest.mark.parametrize("name", ["suppressed_penalty", "minority_penalty", "no_majority_penalty"])
@pytest.mark.parametrize("value", [-0.5, float("nan"), float("inf"), 1.1e9])
def test_penalties_that_mean_nothing(name: str, value: float) -> None:
    assert fields(**{name: value}) == [f".{name}"]


def test_one_penalty_is_enough() -> None:
    assert fields(suppressed_penalty=0.0, minority_penalty=0.0, no_majority_penalty=1e-9) == []
    assert fields(suppressed_penalty=0.0, minority_penalty=0.0, no_majority_penalty=0.0) == [""]


def test_no_quasi_identifier_can_be_weighted() -> None:
    attributes = (replace(SOUND.attributes[0], weight=2.0), *SOUND.attributes[1:])
    assert [fault.field for fault in validate_policy(replace(SOUND, attributes=attributes))] == ["attributes[0].weight"]
