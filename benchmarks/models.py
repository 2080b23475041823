"""The registry of what reference cases may ask for: one entry per model, added by the issue that adds the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from benchmarks.problems import NotThereYetError
from tableveil.policy import (
    Aggregate,
    AmbiguityModel,
    AverageClassSizeModel,
    DiscernibilityModel,
    EntropyModel,
    HeightModel,
    KAnonymity,
    KLDivergenceModel,
    KLWeighting,
    LossModel,
    PrecisionModel,
    PrivacyModel,
    QualityModel,
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


PRIVACY: Mapping[str, Callable[..., PrivacyModel]] = {
    "k": lambda k: KAnonymity(int(k)),
}
"""By the name before the first `:` of an item of `priv`; called with the texts between the others."""

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
}
"""By the name before the first `:` of `metric`; called with the texts between the others: aggregate, then factor."""

UNDERSTOOD = frozenset({"dataset", "qis", "priv", "supp", "metric", "sensitive", "time", "algo"})
"""Settings of a case that a policy can say."""

WITHOUT_EFFECT = frozenset({"ties", "sample"})
"""Settings of a case that only told the reference tool what else to record."""


@dataclass(frozen=True, slots=True)
class Models:
    """What a case asks for, in the policy's terms; `time_limit` in seconds, for heuristics, None for an optimum."""

    privacy: tuple[PrivacyModel, ...]
    quality: QualityModel
    suppression_limit: Decimal
    time_limit: Decimal | None = None


def read_models(settings: Mapping[str, object]) -> Models:
    """The models that the settings of a case name.

    Raises:
        NotThereYetError: with everything that is not offered.
        ValueError: a setting is missing or cannot be read.
    """
    # What is not offered may stand in place of what all other cases have, so it is looked for first.
    lacking = [f"{name} {value}" for name, value in settings.items() if name not in UNDERSTOOD | WITHOUT_EFFECT]
    privacy = _models(settings, "priv", PRIVACY, lacking)
    quality = _models(settings, "metric", METRICS, lacking)
    if lacking:
        raise NotThereYetError(", ".join(lacking))
    missing = [name for name in ("priv", "metric", "supp") if settings.get(name) in (None, "")]
    if missing:
        raise ValueError(f"case.{missing[0]} is missing")
    time_limit = _decimal(settings, "time") if "time" in settings else None
    return Models(tuple(privacy), quality[0], _decimal(settings, "supp"), time_limit)


def _decimal(settings: Mapping[str, object], name: str) -> Decimal:
    try:
        return Decimal(str(settings[name]))
    except InvalidOperation:
        raise ValueError(f"case.{name} is no number: {settings[name]}") from None


Model = TypeVar("Model")


def _models(
    settings: Mapping[str, object], name: str, registry: Mapping[str, Callable[..., Model]], lacking: list[str]
) -> list[Model]:
    """The models in a setting that joins them by `;`; what is not offered is added to `lacking`."""
    found = []
    for item in filter(None, str(settings.get(name, "")).split(";")):
        kind, *parameters = item.split(":")
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
