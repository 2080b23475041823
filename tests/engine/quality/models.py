"""Every quality model with every option, for properties that hold for all of them."""

from __future__ import annotations

from hypothesis import strategies as st

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

AGGREGATES = st.sampled_from(Aggregate)
FACTORS = st.sampled_from([0.5, 0.0, 0.25, 0.3, 0.75, 0.9, 1.0])

SEPARABLE: tuple[st.SearchStrategy[QualityModel], ...] = (
    st.builds(LossModel, AGGREGATES, FACTORS, st.booleans()),
    st.builds(EntropyModel, st.booleans(), AGGREGATES, FACTORS, st.booleans()),
    st.builds(PrecisionModel, AGGREGATES, FACTORS, st.booleans()),
    st.builds(HeightModel, AGGREGATES),
)
"""Models with one value per quasi-identifier."""

BY_CLASSES: tuple[st.SearchStrategy[QualityModel], ...] = (
    st.builds(DiscernibilityModel, st.booleans()),
    st.builds(AverageClassSizeModel, FACTORS, st.booleans()),
    st.builds(AmbiguityModel, st.booleans()),
    st.builds(KLDivergenceModel, st.just(KLWeighting.TEXTBOOK), st.booleans()),
    st.builds(KLDivergenceModel, st.just(KLWeighting.PER_RECORD), st.booleans()),
)
"""Models of classes as a whole."""

NAMES = (
    "loss",
    "entropy",
    "precision",
    "height",
    "discernibility",
    "average class size",
    "ambiguity",
    "KL divergence",
    "KL divergence per record",
)
"""Of the models in the two lists, for the names of tests."""

EVERY_MODEL = st.one_of(*SEPARABLE, *BY_CLASSES)
