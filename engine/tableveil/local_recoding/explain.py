"""Where the cost of a local recoding is: by column, and by the label of a column that records were released with."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tableveil.local_recoding.problem import SUPPRESSED, LocalPartition, LocalProblem

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
