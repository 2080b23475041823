"""What the quality models of reference cases are called."""

from __future__ import annotations

import pytest

from benchmarks.models import read_models
from tableveil.policy import (
    Aggregate,
    AmbiguityModel,
    AverageClassSizeModel,
    DiscernibilityModel,
    EntropyModel,
    HeightModel,
    KLDivergenceModel,
    KLWeighting,
    LossModel,
    PrecisionModel,
    QualityModel,
)


@pytest.mark.parametrize(
    ("metric", "model"),
    [
        ("loss:am:0.7", LossModel(Aggregate.ARITHMETIC_MEAN, 0.7)),
        ("entropy", EntropyModel()),
        ("entropy:gm:0.25", EntropyModel(aggregate=Aggregate.GEOMETRIC_MEAN, factor=0.25)),
        ("normalized-entropy", EntropyModel(normalized=True)),
        ("normalized-entropy:rank:1", EntropyModel(True, Aggregate.RANK, 1.0)),
        ("precision", PrecisionModel()),
        ("precision:max:0", PrecisionModel(Aggregate.MAXIMUM, 0.0)),
        ("height", HeightModel()),
        ("height:max", HeightModel(Aggregate.MAXIMUM)),
        ("discernibility", DiscernibilityModel()),
        ("aecs", AverageClassSizeModel()),
        ("aecs:0.75", AverageClassSizeModel(0.75)),
        ("ambiguity", AmbiguityModel()),
        # The reference tool's own weighting, not the default.
        ("kl", KLDivergenceModel(KLWeighting.PER_RECORD)),
    ],
)
def test_metrics_are_quality_models(metric: str, model: QualityModel) -> None:
    assert read_models({"priv": "k:5", "supp": "0.05", "metric": metric}).quality == model
