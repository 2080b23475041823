"""The cost of labels under a policy's quality model, or under the surrogate that is minimized in its place."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels
from tableveil.local_recoding.problem import LabelCosts
from tableveil.policy import BALANCED, Aggregate, EntropyModel, LossModel, PrecisionModel, QualityModel
from tableveil.quality.bits import bits as bits_of
from tableveil.quality.model import Factors

SUMS = (Aggregate.ARITHMETIC_MEAN, Aggregate.SUM)
"""Aggregates that keep a sum over records one."""


def label_costs(
    model: QualityModel,
    levels: Sequence[AttributeLevels],
    weights: Sequence[float],
    counts: Sequence[NDArray[np.int64]],
    withheld: int = 0,
) -> LabelCosts:
    """Costs per record whose sum is the score of the model.

    `counts` has the records that are not withheld, per quasi-identifier and code; those that are count in the score.
    Loss, precision and entropy are sums over records if they are aggregated by arithmetic mean or sum. For another
    aggregate of theirs, the arithmetic mean is minimized; for every other model, the arithmetic mean of loss. A
    suppressed record costs as much as the factor of suppression says, of what the most general labels cost. Entropy
    counts both the same, because what a record would save by suppression depends on its value.
    """
    factors = Factors.of(BALANCED if isinstance(model, EntropyModel) else getattr(model, "factor", BALANCED))
    parts = 1 if getattr(model, "aggregate", None) is Aggregate.SUM else max(len(levels), 1)
    labels, suppressed, constant = [], 0.0, 0.0
    for attribute, weight, per_code in zip(levels, weights, counts, strict=True):
        records = max(int(per_code.sum()), 1)
        scale = weight / parts
        if isinstance(model, EntropyModel):
            # A withheld record has a value of its own that nothing generalizes: it loses nothing.
            bits = [
                np.log2(np.maximum(np.bincount(groups, per_code, len(leaves)), 1.0))
                for groups, leaves in zip(attribute.groups, attribute.leaves, strict=True)
            ]
            if model.normalized:
                scale /= bits_of(np.append(per_code, withheld)) or 1.0
            constant -= scale * float(bits[0][attribute.groups[0]] @ per_code)
            suppressed += scale * float(np.log2(records))
            costs = bits
        else:
            scale /= max(int(per_code.sum()) + withheld, 1)
            suppressed += scale * factors.suppression
            constant += scale * factors.suppression * withheld
            costs = [_cost(model, attribute, level, factors.generalization) for level in range(attribute.top + 1)]
        labels.append(tuple(scale * factors.generalization * cost for cost in costs))
    return LabelCosts(tuple(labels), suppressed, constant, _surrogate(model))


def _cost(model: QualityModel, attribute: AttributeLevels, level: int, generalization: float) -> NDArray[np.float64]:
    """Precision or loss of a label, but for the factor itself: see `tableveil.quality.loss`."""
    if isinstance(model, PrecisionModel):
        return np.full(len(attribute.leaves[level]), level / max(attribute.top, 1))
    if attribute.continuous or attribute.loss_domain <= 1:
        return attribute.shares(level)
    return (attribute.loss_leaves[level] - 1) / (attribute.loss_domain - generalization)


def _surrogate(model: QualityModel) -> str | None:
    if not isinstance(model, LossModel | PrecisionModel | EntropyModel):
        return "the arithmetic mean of loss in place of the model"
    parts = []
    if model.aggregate not in SUMS:
        parts.append("the arithmetic mean in place of the aggregate")
    if model.monotone:
        parts.append("the sum with suppressed records, which a monotone model leaves out")
    if isinstance(model, EntropyModel) and model.factor != BALANCED:
        parts.append("entropy with suppression as dear as generalization")
    return " and ".join(parts) or None
