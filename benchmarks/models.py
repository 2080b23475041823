"""The registry of models in reference cases: one entry per model, added by the issue that adds the model."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from typing import TypeVar

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
    ClassificationModel,
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
    NTCloseness,
    OrderBy,
    PopulationUniqueness,
    PrecisionModel,
    PrivacyModel,
    Profitability,
    PublisherPayoutModel,
    QualityModel,
    RecursiveCLDiversity,
    SampleUniqueness,
    SensitiveModel,
    Success,
    TCloseness,
    UniquenessEstimator,
)

AGGREGATES: Mapping[str, Aggregate] = {
    "gm": Aggregate.GEOMETRIC_MEAN,
    "am": Aggregate.ARITHMETIC_MEAN,
    "max": Aggregate.MAXIMUM,
    "sum": Aggregate.SUM,
    "rank": Aggregate.RANK,
}


def _aggregate(name: str) -> Aggregate:
    if name not in AGGREGATES:
        raise NotThereYetError(f"aggregate {name}")
    return AGGREGATES[name]


def _factor(text: str) -> float:
    factor = float(text)
    if not 0 <= factor <= 1:
        raise ValueError(f"no factor from 0 to 1: {text}")
    return factor


def _loss(aggregate: str = "gm", factor: str = "0.5") -> LossModel:
    return LossModel(_aggregate(aggregate), _factor(factor))


def _entropy(aggregate: str = "sum", factor: str = "0.5") -> EntropyModel:
    return EntropyModel(aggregate=_aggregate(aggregate), factor=_factor(factor))


def _normalized_entropy(aggregate: str = "sum", factor: str = "0.5") -> EntropyModel:
    return replace(_entropy(aggregate, factor), normalized=True)


def _precision(aggregate: str = "am", factor: str = "0.5") -> PrecisionModel:
    return PrecisionModel(_aggregate(aggregate), _factor(factor))


def _height(aggregate: str = "sum") -> HeightModel:
    return HeightModel(_aggregate(aggregate))


def _average_class_size(factor: str = "0.5") -> AverageClassSizeModel:
    return AverageClassSizeModel(_factor(factor))


def _discernibility() -> DiscernibilityModel:
    return DiscernibilityModel()


def _ambiguity() -> AmbiguityModel:
    return AmbiguityModel()


def _divergence() -> KLDivergenceModel:
    return KLDivergenceModel(KLWeighting.PER_RECORD)


def _k_map(k: str, significance: str = "", estimator: str = CellSizes.POISSON) -> KMap | EstimatedKMap:
    """k-map by the population's rows, or estimated if there is a significance."""
    return EstimatedKMap(int(k), Decimal(significance), CellSizes(_member(estimator))) if significance else KMap(int(k))


def _population_uniqueness(threshold: str, estimator: str = UniquenessEstimator.DANKAR) -> PopulationUniqueness:
    return PopulationUniqueness(Decimal(threshold), UniquenessEstimator(_member(estimator)))


def _entropy_diversity(estimator: EntropyEstimator) -> Callable[[str, str], EntropyLDiversity]:
    return lambda column, least: EntropyLDiversity(column, Decimal(least), estimator)


def _closeness(distance: Distance) -> Callable[[str, str], TCloseness]:
    return lambda column, t: TCloseness(column, Decimal(t), distance)


def _disclosure(column: str, delta: str) -> DeltaDisclosure:
    # The reference tool looks at the values of the class only.
    return DeltaDisclosure(column, Decimal(delta), AbsentValues.IGNORE)


def _likeness(enhanced: bool) -> Callable[[str, str], BetaLikeness]:
    return lambda column, beta: BetaLikeness(column, Decimal(beta), enhanced)


def _profitability(success: Success) -> Callable[[], Profitability]:
    # The reference tool suppresses records that pay nothing.
    return lambda: Profitability(success, BreakEven.SUPPRESS)


def _member(text: str) -> str:
    """The name of a member as policies spell it."""
    return text.upper().replace("-", "_")


PRIVACY: Mapping[str, Callable[..., PrivacyModel]] = {
    "k": lambda k: KAnonymity(int(k)),
    "k-map": _k_map,
    "d-presence": lambda minimum, maximum: DeltaPresence(Decimal(minimum), Decimal(maximum)),
    "inclusion": Inclusion,
    "avg-risk": lambda threshold: AverageRisk(Decimal(threshold)),
    "sample-uniqueness": lambda threshold: SampleUniqueness(Decimal(threshold)),
    "population-uniqueness": _population_uniqueness,
    "distinct-l": lambda column, least: DistinctLDiversity(column, int(least)),
    "entropy-l-shannon": _entropy_diversity(EntropyEstimator.SHANNON),
    "entropy-l-grassberger": _entropy_diversity(EntropyEstimator.GRASSBERGER),
    "recursive-cl": lambda column, c, rank: RecursiveCLDiversity(column, Decimal(c), int(rank)),
    "t-equal": _closeness(Distance.EQUAL),
    "t-ordered": _closeness(Distance.ORDERED),
    "t-hierarchical": _closeness(Distance.HIERARCHICAL),
    "d-disclosure": _disclosure,
    "b-basic": _likeness(enhanced=False),
    "b-enhanced": _likeness(enhanced=True),
    "profit-prosecutor": _profitability(Success.PROSECUTOR),
    "profit-journalist": _profitability(Success.JOURNALIST),
    "no-attack-prosecutor": lambda: NoAttack(Success.PROSECUTOR),
    "no-attack-journalist": lambda: NoAttack(Success.JOURNALIST),
}
"""By the text before the first `:` of an item of `priv`; called with the texts after it."""

ALIASES: Mapping[str, str] = {
    "distinct": "distinct-l",
    "entropy-l": "entropy-l-shannon",
    "b-likeness": "b-basic",
    "basic-b": "b-basic",
    "enhanced-b": "b-enhanced",
    "average-risk": "avg-risk",
    "sample-uniq": "sample-uniqueness",
    "pop-uniqueness": "population-uniqueness",
    "population-uniq": "population-uniqueness",
}
"""Other names in cases for these models."""

TOGETHER: Mapping[str, str] = {
    "profit-prosecutor-noattack": "profit-prosecutor;no-attack-prosecutor",
    "profit-journalist-noattack": "profit-journalist;no-attack-journalist",
}
"""Items of `priv` that are several models."""

METRICS: Mapping[str, Callable[..., QualityModel]] = {
    "loss": _loss,
    "entropy": _entropy,
    "normalized-entropy": _normalized_entropy,
    "precision": _precision,
    "height": _height,
    "discernibility": _discernibility,
    "aecs": _average_class_size,
    "ambiguity": _ambiguity,
    "kl": _divergence,
    # The class is a setting of its own.
    "classification": lambda: ClassificationModel(()),
    "payout-prosecutor": lambda: PublisherPayoutModel(Success.PROSECUTOR),
    "payout-journalist": lambda: PublisherPayoutModel(Success.JOURNALIST),
}
"""By the text before the first `:` of `metric`; called with the texts after it: aggregate, then factor."""

TYPES: Mapping[str, OrderBy] = {"string": OrderBy.TYPE, "integer": OrderBy.NUMBER, "decimal": OrderBy.NUMBER}
"""By the type that `types` gives a column: how its texts are ordered."""

UNDERSTOOD = frozenset(
    {"dataset", "qis", "priv", "supp", "metric", "sensitive", "subset", "population", "types", "time", "algo", "cb"}
    | {"class"}
)
"""Settings of a case that a policy can express."""

WITHOUT_EFFECT = frozenset({"ties", "sample", "classify"})
"""Settings of a case that only made the reference tool record more."""


@dataclass(frozen=True, slots=True)
class Models:
    """The settings of a case, in the policy's terms.

    Attributes:
        privacy: All of the privacy models must hold.
        quality: The quality model to optimize.
        suppression_limit: The share of records that may be suppressed.
        time_limit: Seconds, for heuristics; None for an optimum.
        sensitive: Columns that the case calls sensitive, or whose values one of its models looks at.
        every: Every so many rows, beginning with the first, one is in the sample, and all rows are the population; None
            if all rows are the sample and there is no population.
        population_size: The number of people.
        sampling_fraction: The share of them that is in the sample.
        orders: The order of a column's values, by column, where the case defines it.
        game: The worth of records, if the case defines it.
    """

    privacy: tuple[PrivacyModel, ...]
    quality: QualityModel
    suppression_limit: Decimal
    time_limit: Decimal | None = None
    sensitive: tuple[str, ...] = ()
    every: int | None = None
    population_size: int | None = None
    sampling_fraction: Decimal | None = None
    orders: Mapping[str, OrderBy] = field(default_factory=dict)
    game: Game | None = None


def read_models(settings: Mapping[str, object]) -> Models:
    """The models that the settings of a case name.

    Raises:
        NotThereYetError: with everything that Tableveil does not offer.
        ValueError: a setting is missing or cannot be read.
    """
    # A model that is not offered may stand in a setting that all other cases need, so it is looked for first.
    lacking = [f"{name} {value}" for name, value in settings.items() if name not in UNDERSTOOD | WITHOUT_EFFECT]
    privacy = _models(settings, "priv", PRIVACY, lacking)
    quality = _models(settings, "metric", METRICS, lacking)
    every = _numbers(settings, "subset", ("mod",), lacking).get("mod")
    population = _numbers(settings, "population", ("fraction", "size"), lacking)
    orders = _orders(settings, lacking)
    if lacking:
        raise NotThereYetError(", ".join(lacking))
    missing = [name for name in ("priv", "metric", "supp") if settings.get(name) in (None, "")]
    if missing:
        raise ValueError(f"case.{missing[0]} is missing")
    if isinstance(quality[0], ClassificationModel):
        if not settings.get("class"):
            raise ValueError("case.class is missing")
        quality = [replace(quality[0], classes=(str(settings["class"]),))]
    named = filter(None, str(settings.get("sensitive", "")).split(","))
    columns = [model.column for model in privacy if isinstance(model, SensitiveModel)]
    return Models(
        privacy=tuple(privacy),
        quality=quality[0],
        suppression_limit=_decimal(settings, "supp"),
        time_limit=_decimal(settings, "time") if "time" in settings else None,
        sensitive=tuple(dict.fromkeys([*named, *columns])),
        every=None if every is None else int(every),
        population_size=int(population["size"]) if "size" in population else None,
        sampling_fraction=population.get("fraction"),
        orders=orders,
        game=_game(settings),
    )


def distances_of(models: Sequence[PrivacyModel], column: str) -> set[Distance]:
    """The ground distances that models measure between a column's values."""
    return {
        model.distance for model in models if isinstance(model, TCloseness | NTCloseness) and model.column == column
    }


def _decimal(settings: Mapping[str, object], name: str) -> Decimal:
    try:
        return Decimal(str(settings[name]))
    except InvalidOperation:
        raise ValueError(f"case.{name} is no number: {settings[name]}") from None


def _numbers(
    settings: Mapping[str, object], name: str, kinds: Collection[str], lacking: list[str]
) -> dict[str, Decimal]:
    """A setting such as `mod:10` by its kind; another kind is added to `lacking`."""
    text = str(settings.get(name) or "")
    if not text:
        return {}
    kind, _, number = text.partition(":")
    if kind not in kinds:
        lacking.append(f"{name} {text}")
        return {}
    found = _decimal({name: number}, name)
    if not found.is_finite() or found <= 0:
        raise ValueError(f"case.{name} cannot be read: {text}")
    return {kind: found}


def _orders(settings: Mapping[str, object], lacking: list[str]) -> dict[str, OrderBy]:
    """The orders in `types`, such as `age:integer,sex:string`; other types are added to `lacking`."""
    orders = {}
    for item in filter(None, str(settings.get("types") or "").replace(";", ",").split(",")):
        column, _, type_ = item.rpartition(":")
        if type_.lower() in TYPES:
            orders[column] = TYPES[type_.lower()]
        else:
            lacking.append(f"types {item}")
    return orders


def _game(settings: Mapping[str, object]) -> Game | None:
    """The game in `cb`: the publisher's benefit and loss, the adversary's gain and cost."""
    text = str(settings.get("cb") or "")
    if not text:
        return None
    numbers = [_decimal({"cb": number}, "cb") for number in text.split(",")]
    if len(numbers) != len(fields(Game)):
        raise ValueError(f"case.cb cannot be read: {text}")
    return Game(*numbers)


Model = TypeVar("Model")


def _models(
    settings: Mapping[str, object], name: str, registry: Mapping[str, Callable[..., Model]], lacking: list[str]
) -> list[Model]:
    """The models in a setting that joins them by `;`; models that are not offered are added to `lacking`."""
    found = []
    text = ";".join(TOGETHER.get(item, item) for item in str(settings.get(name, "")).split(";"))
    for item in filter(None, text.split(";")):
        kind, *parameters = item.split(":")
        kind = ALIASES.get(kind, kind)
        try:
            if kind in registry:
                found.append(registry[kind](*parameters))
            else:
                lacking.append(f"{name} {item}")
        except NotThereYetError as error:
            lacking.append(f"{name} {kind} with {error}")
        except (TypeError, ValueError, ArithmeticError):
            raise ValueError(f"case.{name} cannot be read: {item}") from None
    return found
