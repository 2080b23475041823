"""The registry of what reference cases may ask for: one entry per model, added by the issue that adds the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TypeVar

from benchmarks.problems import NotThereYetError
from tableveil.policy import Aggregate, KAnonymity, LossModel, PrivacyModel, QualityModel

Model = TypeVar("Model")

PRIVACY: Mapping[str, Callable[..., PrivacyModel]] = {
    "k": lambda k: KAnonymity(int(k)),
}
"""By the name before the first `:` of an item of `priv`; called with the texts between the others."""

AGGREGATES: Mapping[str, Aggregate] = {
    "gm": Aggregate.GEOMETRIC_MEAN,
    "am": Aggregate.ARITHMETIC_MEAN,
    "max": Aggregate.MAXIMUM,
    "sum": Aggregate.SUM,
    "rank": Aggregate.RANK,
}


def _loss(aggregate: str = "gm", factor: str = "0.5") -> LossModel:
    if aggregate not in AGGREGATES:
        raise NotThereYetError(f"aggregate {aggregate}")
    if Decimal(factor) != Decimal("0.5"):
        raise NotThereYetError(f"a factor of {factor} between generalization and suppression")
    return LossModel(AGGREGATES[aggregate])


METRICS: Mapping[str, Callable[..., QualityModel]] = {
    "loss": _loss,
}
"""By the name before the first `:` of `metric`; called with the texts between the others."""

UNDERSTOOD = frozenset({"dataset", "qis", "priv", "supp", "metric", "sensitive"})
"""Settings of a case that a policy can say."""

WITHOUT_EFFECT = frozenset({"ties", "sample"})
"""Settings of a case that only told the reference tool what else to record."""


def check_settings(settings: Mapping[str, object]) -> None:
    """Raises `NotThereYetError` for settings that no policy can say yet."""
    unknown = [f"{name} {value}" for name, value in settings.items() if name not in UNDERSTOOD | WITHOUT_EFFECT]
    if unknown:
        raise NotThereYetError(", ".join(unknown))


def privacy_models(text: str) -> tuple[PrivacyModel, ...]:
    """The models of `priv`, which are joined by `;`.

    Raises:
        NotThereYetError: one of them is not offered.
        ValueError: the parameters of one cannot be read.
    """
    return tuple(_model(item, PRIVACY, "privacy model") for item in text.split(";"))


def quality_model(text: str) -> QualityModel:
    """The model of `metric`; raises as `privacy_models` does."""
    return _model(text, METRICS, "metric")


def _model(text: str, registry: Mapping[str, Callable[..., Model]], kind: str) -> Model:
    name, *parameters = text.split(":")
    if name not in registry:
        raise NotThereYetError(f"{kind} {text}")
    try:
        return registry[name](*parameters)
    except (TypeError, ArithmeticError) as error:
        raise ValueError(f"{kind} {text}: {error}") from None
