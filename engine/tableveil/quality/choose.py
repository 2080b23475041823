"""From the quality model that a policy names to the one that computes it."""

from __future__ import annotations

from collections.abc import Sequence

from tableveil.classes import ClassCounter
from tableveil.policy import LossModel
from tableveil.policy import QualityModel as Named
from tableveil.quality.loss import Loss
from tableveil.quality.model import QualityModel


def quality_of(model: Named, counter: ClassCounter, weights: Sequence[float], suppressible: int) -> QualityModel:
    """The model over the counter's table, of which at most `suppressible` records may be suppressed."""
    match model:
        case LossModel():
            return Loss(model, counter.levels, weights, counter.marginals(), counter.withheld)
    raise NotImplementedError(f"{type(model).__name__} is not there yet")
