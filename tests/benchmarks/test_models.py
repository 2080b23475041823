"""The names of the models of reference cases, and their other settings."""

from decimal import Decimal

import pytest

from benchmarks.models import ALIASES, PRIVACY, Models, read_models
from benchmarks.problems import NotThereYetError
from tableveil.policy import (
    AbsentValues,
    Aggregate,
    AmbiguityModel,
    AverageClassSizeModel,
    AverageRisk,
    BetaLikeness,
    BreakEven,
    CellSizes,
    DeltaDisclosure,
    DeltaPresence,
    DiscernibilityModel,
    Distance,
    DistinctLDiversity,
    EntropyEstimator,
    EntropyLDiversity,
    EntropyModel,
    EstimatedKMap,
    Game,
    HeightModel,
    Inclusion,
    KAnonymity,
    KLDivergenceModel,
    KLWeighting,
    KMap,
    LossModel,
    NoAttack,
    OrderBy,
    PopulationUniqueness,
    PrecisionModel,
    PrivacyModel,
    Profitability,
    PublisherPayoutModel,
    QualityModel,
    RecursiveCLDiversity,
    SampleUniqueness,
    Success,
    TCloseness,
    UniquenessEstimator,
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
        ("payout-journalist", PublisherPayoutModel(Success.JOURNALIST)),
    ],
)
def test_metrics_are_quality_models(metric: str, model: QualityModel) -> None:
    assert read_models({"priv": "k:5", "supp": "0.05", "metric": metric}).quality == model


@pytest.mark.parametrize(
    ("item", "model"),
    [
        ("k:5", KAnonymity(5)),
        ("k-map:5", KMap(5)),
        ("k-map:5:0.01", EstimatedKMap(5, Decimal("0.01"))),
        ("k-map:5:0.01:zero-truncated-poisson", EstimatedKMap(5, Decimal("0.01"), CellSizes.ZERO_TRUNCATED_POISSON)),
        ("d-presence:0.05:0.15", DeltaPresence(Decimal("0.05"), Decimal("0.15"))),
        ("inclusion", Inclusion()),
        ("avg-risk:0.1", AverageRisk(Decimal("0.1"))),
        ("sample-uniqueness:0.01", SampleUniqueness(Decimal("0.01"))),
        ("population-uniqueness:0.01", PopulationUniqueness(Decimal("0.01"))),
        ("population-uniqueness:0.01:snb", PopulationUniqueness(Decimal("0.01"), UniquenessEstimator.SNB)),
        ("distinct-l:age:3", DistinctLDiversity("age", 3)),
        ("entropy-l-shannon:age:2.5", EntropyLDiversity("age", Decimal("2.5"))),
        ("entropy-l-grassberger:age:3", EntropyLDiversity("age", Decimal(3), EntropyEstimator.GRASSBERGER)),
        ("recursive-cl:age:4:3", RecursiveCLDiversity("age", Decimal(4), 3)),
        ("t-equal:age:0.2", TCloseness("age", Decimal("0.2"))),
        ("t-ordered:age:0.2", TCloseness("age", Decimal("0.2"), Distance.ORDERED)),
        ("t-hierarchical:age:0.2", TCloseness("age", Decimal("0.2"), Distance.HIERARCHICAL)),
        # The reference tool looks at the values of the class only, not as the definition says.
        ("d-disclosure:age:1.0", DeltaDisclosure("age", Decimal("1.0"), AbsentValues.IGNORE)),
        ("b-basic:age:1.0", BetaLikeness("age", Decimal("1.0"))),
        ("b-enhanced:age:1.0", BetaLikeness("age", Decimal("1.0"), enhanced=True)),
        # The reference tool suppresses what pays nothing.
        ("profit-prosecutor", Profitability(Success.PROSECUTOR, BreakEven.SUPPRESS)),
        ("no-attack-journalist", NoAttack(Success.JOURNALIST)),
        # As the reference's README writes it.
        ("distinct:age:3", DistinctLDiversity("age", 3)),
        ("b-likeness:age:1.0", BetaLikeness("age", Decimal("1.0"))),
    ],
)
def test_items_are_privacy_models(item: str, model: PrivacyModel) -> None:
    assert _read(priv=f"k:2;{item}").privacy == (KAnonymity(2), model)


def test_aliases_are_of_models_and_hide_none() -> None:
    assert set(ALIASES.values()) <= set(PRIVACY)
    assert not set(ALIASES) & set(PRIVACY)


def test_columns_are_sensitive_if_the_case_or_a_model_says_so() -> None:
    read = _read(priv="k:2;t-equal:age:0.2;distinct-l:sex:2;t-ordered:age:0.3", sensitive="sex,job")
    assert read.sensitive == ("sex", "job", "age")
    assert _read().sensitive == ()


def test_the_population_is_what_the_case_says() -> None:
    assert (_read(subset="mod:10").every, _read().every) == (10, None)
    assert _read(population="fraction:0.1").sampling_fraction == Decimal("0.1")
    assert _read(population="size:300000").population_size == 300_000


def test_the_game_is_what_the_case_says() -> None:
    assert _read(cb="1200,300,1000,4").game == Game(Decimal(1200), Decimal(300), Decimal(1000), Decimal(4))
    assert _read().game is None


def test_an_item_can_be_several_models() -> None:
    models = (Profitability(Success.JOURNALIST, BreakEven.SUPPRESS), NoAttack(Success.JOURNALIST))
    assert _read(priv="profit-journalist-noattack").privacy == models


def test_types_are_orders() -> None:
    orders = {"age": OrderBy.NUMBER, "sex": OrderBy.TYPE, "a:b": OrderBy.NUMBER}
    assert _read(types="age:integer,sex:string;a:b:decimal").orders == orders


def test_all_that_is_not_there_yet_is_told() -> None:
    settings = {"priv": "k:2;profit:5", "subset": "query:age>3", "population": "region:fr", "types": "day:date"}
    with pytest.raises(NotThereYetError) as told:
        _read(**settings)
    assert str(told.value) == "priv profit:5, subset query:age>3, population region:fr, types day:date"


@pytest.mark.parametrize(
    "settings",
    [
        {"subset": "mod:ten"},
        {"subset": "mod:0"},
        {"population": "fraction:-1"},
        {"priv": "k-map:5:0.01:odd"},
        {"cb": "1,2,3"},
    ],
)
def test_what_cannot_be_read_is_told(settings: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"case\.(subset|population|priv|cb) "):
        _read(**settings)


def _read(**settings: str) -> Models:
    return read_models({"priv": "k:5", "supp": "0.05", "metric": "loss", **settings})
