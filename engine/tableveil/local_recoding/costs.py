"""What labels cost under a policy's quality model, or under the surrogate that is minimized in its place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels
from tableveil.local_recoding.problem import LabelCosts
from tableveil.policy import BALANCED, Aggregate, EntropyModel, LossModel, PrecisionModel, QualityModel
from tableveil.quality.factors import Factors

SUMS = (Aggregate.ARITHMETIC_MEAN, Aggregate.SUM)
"""Aggregates that keep a sum over records one."""


def label_costs(
    model: QualityModel,
    levels: Sequence[AttributeLevels],
    weights: Sequence[float],
    counts: Sequence[NDArray[np.int64]],
) -> LabelCosts:
    """Costs per record whose sum is the score of the model.

    `counts` has all records per quasi-identifier and code. Loss, precision and entropy are sums over records if they
    are aggregated by arithmetic mean or sum. For another aggregate of theirs, the arithmetic mean is minimized; for
    every other model, the arithmetic mean of loss. A suppressed record costs as much as the factor of suppression says,
    of what the most general labels cost.
    """
    factors = Factors.of(getattr(model, "factor", BALANCED))
    parts = 1 if getattr(model, "aggregate", None) is Aggregate.SUM else max(len(levels), 1)
    labels, suppressed, constant = [], 0.0, 0.0
    for attribute, weight, per_code in zip(levels, weights, counts, strict=True):
        records = max(int(per_code.sum()), 1)
        scale = weight / parts
        if isinstance(model, EntropyModel):
            bits = [
                np.log2(np.maximum(np.bincount(groups, per_code, len(leaves)), 1.0))
                for groups, leaves in zip(attribute.groups, attribute.leaves, strict=True)
            ]
            start = float(bits[0][attribute.groups[0]] @ per_code)
            whole = records * np.log2(records) - start
            if model.normalized:
                # Without the factor, which the normalized model has above and below the line.
                scale /= whole * (factors.generalization or 1.0) or 1.0
            constant -= scale * factors.generalization * start
            suppressed += scale * factors.suppression * float(np.log2(records))
            costs = bits
        elif isinstance(model, PrecisionModel):
            scale /= records
            suppressed += scale * factors.suppression
            costs = [
                np.full(len(leaves), level / max(attribute.top, 1)) for level, leaves in enumerate(attribute.leaves)
            ]
        else:
            scale /= records
            suppressed += scale * factors.suppression
            costs = [_loss(attribute, level, factors.generalization) for level in range(attribute.top + 1)]
        labels.append(tuple(scale * factors.generalization * cost for cost in costs))
    return LabelCosts(tuple(labels), suppressed, constant, _surrogate(model))


def _loss(attribute: AttributeLevels, level: int, generalization: float) -> NDArray[np.float64]:
    """The loss of a label, but for the factor itself: see `tableveil.quality.loss`."""
    if attribute.continuous or attribute.domain_size <= 1:
        return attribute.shares(level)
    return (attribute.leaves[level] - 1) / (attribute.domain_size - generalization)


def _surrogate(model: QualityModel) -> str | None:
    if isinstance(model, LossModel | PrecisionModel | EntropyModel):
        return None if model.aggregate in SUMS else "the arithmetic mean in place of the aggregate"
    return "the arithmetic mean of loss in place of the model"
