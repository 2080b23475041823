"""The parts of a job: each is there if, and only if, the policy names it; every privacy model is judged by one."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    AttributePolicy,
    ClassificationModel,
    DistinctLDiversity,
    Game,
    JobPart,
    KAnonymity,
    LeftBehind,
    Policy,
    Population,
    RelatedTables,
    ReleaseGuards,
    ReleaseTarget,
    Role,
    SafeHarbor,
    SensitiveModel,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.privacy import PRIVACY_FIELDS

TARGET = ReleaseTarget("main", "released")
PLAIN = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE, acknowledged=True),
        AttributePolicy("ward", Role.INSENSITIVE, acknowledged=True),
    ),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=TARGET,
)

NAMED: dict[JobPart, dict[str, Any]] = {
    JobPart.BINDING: {"source_load": 3},
    JobPart.PEOPLE: {"person_column": "id"},
    JobPart.TOGETHER: {"release": replace(TARGET, left_behind=LeftBehind.REPORT)},
    JobPart.REPEATED: {"repeat_reason": "another purpose"},
    JobPart.POPULATION: {"population": Population(sampling_fraction=Decimal("0.1"))},
    JobPart.KNOWN_CLASSES: {"methods": (LocalRecoding(classes_of=2),)},
    JobPart.CLASSIFICATION: {"quality_model": ClassificationModel(classes=("illness",))},
    JobPart.VALUES: {"privacy_models": (KAnonymity(5), DistinctLDiversity("illness", 2))},
    JobPart.SAFE_HARBOR: {"privacy_models": (SafeHarbor(),)},
    JobPart.GAME: {"game": Game(*map(Decimal, (1, 1, 1, 1)))},
    JobPart.UNCHANGED: {"attributes": (*PLAIN.attributes, AttributePolicy("weight", Role.INSENSITIVE))},
    JobPart.SUPPRESSED_BY: {"release": replace(TARGET, suppressed_by=("age",))},
    JobPart.GUARDS: {"release": replace(TARGET, guards=ReleaseGuards(minimum_records=1))},
    JobPart.RELATED: {"methods": (RelatedTables(()),)},
    JobPart.PUBLICATION: {"release": replace(TARGET, publish=("shelf",))},
}


def test_a_plain_policy_has_no_parts() -> None:
    assert PLAIN.parts == ()


@pytest.mark.parametrize("part", JobPart)
def test_a_part_is_there_because_the_policy_names_it(part: JobPart) -> None:
    assert replace(PLAIN, **NAMED[part]).parts == (part,)


def test_every_model_of_values_is_judged_by_that_part() -> None:
    """The verification judges models of sensitive values, and Safe Harbor, as parts: none may be left out."""
    of_values = set(SensitiveModel.__args__)
    for kind in PRIVACY_FIELDS:
        model = object.__new__(kind)
        parts = replace(PLAIN, privacy_models=(model,)).parts
        expected = {JobPart.VALUES} if kind in of_values else {JobPart.SAFE_HARBOR} if kind is SafeHarbor else set()
        assert set(parts) == expected
