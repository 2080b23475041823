"""Every quality model with every option, for properties that hold for all of them."""

from decimal import Decimal

from hypothesis import strategies as st

from tableveil.policy import (
    Aggregate,
    AmbiguityModel,
    AverageClassSizeModel,
    DiscernibilityModel,
    EntropyModel,
    Game,
    HeightModel,
    KLDivergenceModel,
    KLWeighting,
    LossModel,
    PrecisionModel,
    PublisherPayoutModel,
    QualityModel,
    Success,
)

GAMES = st.sampled_from(
    [
        # Attacks pay up to classes of 2 and cost more than any record is worth, or up to classes of 4 and cost less.
        Game(Decimal(5), Decimal(15), Decimal(6), Decimal(2)),
        Game(Decimal("0.7"), Decimal("1.4"), Decimal("0.9"), Decimal("0.2")),
        Game(Decimal(1000), Decimal(0), Decimal(50), Decimal(3)),
    ]
)
"""The worth of records, for models that need it."""

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
    st.builds(PublisherPayoutModel, st.sampled_from(Success)),
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
    "publisher payout",
)
"""The names of tests for the models in the two lists."""

EVERY_MODEL = st.one_of(*SEPARABLE, *BY_CLASSES)
