"""A valid policy tells its owner which sensitive values take part in choosing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tableveil.policy import (
    Choose,
    ClassificationModel,
    DistinctLDiversity,
    KAnonymity,
    LossModel,
    PrivacyModel,
    QualityModel,
    SearchOptions,
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
