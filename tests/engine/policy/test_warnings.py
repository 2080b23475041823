"""A valid policy tells its owner which sensitive values take part in choosing."""

from dataclasses import replace
from typing import Any

import pytest

from tableveil.errors import Rank, rank_of
from tableveil.policy import (
    Choose,
    ClassificationModel,
    DistinctLDiversity,
    KAnonymity,
    LeftBehind,
    LossModel,
    PrivacyModel,
    QualityModel,
    SearchOptions,
    notes_of_next,
    policy_warnings,
)
from tableveil.policy.methods.microaggregation import Microaggregation
from tests.engine.policy.test_validate_classification import SOUND

DIVERSE = DistinctLDiversity("salary", 2)


@pytest.mark.parametrize(
    ("models", "quality", "named"),
    [
        ((KAnonymity(5), DIVERSE), LossModel(), "privacy_models[1]"),
        ((DIVERSE,), LossModel(), "privacy_models[0]"),
        ((KAnonymity(5),), ClassificationModel(("hours", "salary")), "quality_model.classification"),
        ((KAnonymity(5),), ClassificationModel(("hours",), ("salary",)), "quality_model.classification"),
    ],
)
def test_choosing_by_sensitive_values_is_told(
    models: tuple[PrivacyModel, ...], quality: QualityModel, named: str
) -> None:
    policy = replace(SOUND, privacy_models=models, quality_model=quality)
    (warning,) = policy_warnings(policy)
    assert f"({named})" in warning
    assert "search.choose: QUASI_IDENTIFIERS_ONLY" in warning
    (clustered,) = policy_warnings(replace(policy, methods=(Microaggregation(),)))
    assert "QUASI_IDENTIFIERS_ONLY" not in clustered, "there it is refused"


def test_choosing_by_quasi_identifiers_is_nothing_to_warn_of() -> None:
    diverse = replace(SOUND, privacy_models=(KAnonymity(5), DIVERSE), quality_model=LossModel())
    blindly = replace(diverse, search=SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY))
    by_hours = replace(SOUND, quality_model=ClassificationModel(("hours",), ("sex",)))
    assert [list(policy_warnings(p)) for p in (blindly, by_hours)] == [[], []]


@pytest.mark.parametrize(
    ("target", "changes", "told"),
    [
        ({}, {}, None),
        ({"left_behind": LeftBehind.REPORT}, {"person_column": None}, None),
        ({"left_behind": LeftBehind.REQUIRE}, {}, ["left_behind with the same keys in 'nr',", "--recurs"]),
        ({"left_behind": LeftBehind.REPORT}, {"record_column": "it's"}, ["keys in 'nr' and 'it's'"]),
        ({"left_behind": LeftBehind.REPORT, "together_with": (1,)}, {}, ["and this release in together_with"]),
        (
            {"left_behind": LeftBehind.REQUIRE, "publish": ("shelf", "ü")},
            {"repeat_reason": "yes"},
            ["release.publish_repeat_reason, even judged together, since readers of 'shelf', 'ü' have this one"],
        ),
        ({"publish": ("shelf",)}, {}, ["needs left_behind, or a", "; and release.publish_repeat_reason since readers"]),
        ({"publish": ("shelf",)}, {"repeat_reason": "yes"}, ["needs release.publish_repeat_reason since readers"]),
        ({"publish": ("shelf",), "publish_repeat_reason": "--"}, {}, ["publish_repeat_reason since readers"]),
        ({"publish": ("shelf",), "publish_repeat_reason": "yes"}, {"repeat_reason": "yes"}, None),
    ],
)
def test_a_later_release_is_told_what_it_will_need(
    target: dict[str, Any], changes: dict[str, Any], told: list[str] | None
) -> None:
    of_people: dict[str, Any] = {"person_column": "nr", "release": replace(SOUND.release, **target)}
    policy = replace(SOUND, **(of_people | changes))
    texts = list(notes_of_next(policy))
    assert len(texts) == (told is not None)
    for text in texts:
        assert rank_of(text) is Rank.NOTE
        assert [part for part in told or () if part not in text] == [], text
