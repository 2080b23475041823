"""The cost of labels under a policy's quality model or its surrogate, and where a recoding's cost is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels
from tableveil.local_recoding.problem import SUPPRESSED, LabelCosts, LocalPartition, LocalProblem
from tableveil.policy import BALANCED, Aggregate, EntropyModel, LossModel, PrecisionModel, QualityModel
from tableveil.quality.model import Factors
from tableveil.quality.model import bits as bits_of

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


MOST_LABELS = 10


@dataclass(frozen=True, slots=True)
class CostShare:
    """The `share` of the cost that records have, from 0 to 1, and their number.

    Attributes:
        column: The cost is that of the labels of this quasi-identifier, by position; None: that of suppressed records.
        label: Its level and group. Then it is the cost of all columns, of the records with this label.
        records: Records with a label above level 0 in the column.
        share: The part of the whole cost. The cost of a record without generalization is left out.
    """

    column: int | None
    label: tuple[int, int] | None
    records: int
    share: float


def parts(problem: LocalProblem, local_partition: LocalPartition) -> Iterator[CostShare]:
    """The columns, the dearest first; suppressed records; and the labels whose records cost most beyond the average.

    Labels of level 0 are no part: they are values.
    """
    inside = (local_partition.classes != SUPPRESSED) & (problem.counts > 0)
    rows, counts = np.flatnonzero(inside), problem.counts[inside]
    levels = local_partition.levels[local_partition.classes[rows]]
    groups, costs = np.empty_like(levels), np.empty(levels.shape)
    least = np.zeros(len(problem.counts))
    for j, (attribute, of_labels) in enumerate(zip(problem.levels, problem.costs.labels, strict=True)):
        codes = problem.codes[:, j]
        own = of_labels[0][attribute.groups[0][codes]]
        least += own
        for level in range(attribute.top + 1):
            at = levels[:, j] == level
            groups[at, j] = attribute.groups[level][codes[rows[at]]]
            costs[at, j] = of_labels[level][groups[at, j]] - own[rows[at]]
    out = np.where(inside, 0, problem.counts)
    suppressed = float(out @ (problem.costs.suppressed - least))
    of_columns, of_records = counts @ costs, costs.sum(axis=1) * counts
    whole = float(of_columns.sum()) + suppressed
    if whole <= 0:
        return
    for j in np.argsort(-of_columns, kind="stable").tolist():
        yield CostShare(j, None, int(counts[levels[:, j] > 0].sum()), float(of_columns[j]) / whole)
    if out.any():
        yield CostShare(None, None, int(out.sum()), suppressed / whole)
    average = of_records.sum() / max(int(counts.sum()), 1)
    labels = []
    for j in range(levels.shape[1]):
        for level in np.unique(levels[:, j][levels[:, j] > 0]).tolist():
            at = levels[:, j] == level
            records = np.bincount(groups[at, j], counts[at])
            cost = np.bincount(groups[at, j], of_records[at])
            beyond = cost - average * records
            for group in np.flatnonzero(beyond > 0).tolist():
                part = CostShare(j, (level, group), int(records[group]), float(cost[group]) / whole)
                labels.append((float(beyond[group]), part))
    labels.sort(key=lambda one: -one[0])
    yield from (part for _, part in labels[:MOST_LABELS])
