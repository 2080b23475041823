"""Plain ways to recode locally, for comparison only: none of them is part of the service."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control
from tableveil.lattice import Lattice, Transformation
from tableveil.local_recoding import LocalProblem
from tableveil.local_recoding.judge import Judge
from tableveil.local_recoding.labels import CombinationLabels, sets_of
from tableveil.local_recoding.top_down import top_down

STEP = 1.05
"""The ratio of two thresholds."""


def specialization(problem: LocalProblem) -> NDArray[np.int64]:
    """Top-down specialization of every class by itself, from one class of all."""
    classes = np.zeros(len(problem.counts), np.int64)
    top_down(labels_of(problem), problem.counts, Judge(problem), Control(), classes)
    return classes


def cheapest_first(problem: LocalProblem) -> NDArray[np.int64]:
    """All transformations by ascending loss over the records; what is free and forms large classes is taken."""
    costs = _Costs(problem)
    order = sorted(costs.lattice, key=costs.of_all)
    return _taken(problem, ((x, None) for x in order), costs)


def cheapest_first_by_cell(problem: LocalProblem) -> NDArray[np.int64]:
    """Thresholds ascending; at each, every cell of any transformation whose own loss is below it."""
    costs = _Costs(problem)
    most = costs.of_all(costs.lattice.top)
    # Sums of the same costs differ by rounding: the last threshold takes what is left.
    thresholds = [most * (1 + 1e-9) / STEP**number for number in range(100, -1, -1)]
    return _taken(problem, ((x, threshold) for threshold in thresholds for x in costs.lattice), costs)


Recoding = Callable[[LocalProblem], NDArray[np.int64]]

COMPARATORS: Mapping[str, Recoding] = {
    "top-down specialization": specialization,
    "cheapest first": cheapest_first,
    "cheapest first by cell": cheapest_first_by_cell,
}


def labels_of(problem: LocalProblem) -> CombinationLabels:
    """At every level."""
    allowed = [range(attribute.top + 1) for attribute in problem.levels]
    return CombinationLabels.of(problem.levels, problem.codes, problem.costs.labels, allowed)


def score(problem: LocalProblem, classes: NDArray[np.int64]) -> float:
    """The cost of the classes."""
    rows, starts = sets_of(classes)
    costs = labels_of(problem).of_sets(rows, starts).costs
    return float(costs @ np.add.reduceat(problem.counts[rows], starts))


class _Costs:
    """The costs of combinations at each level, and keys of their labels."""

    def __init__(self, problem: LocalProblem) -> None:
        random = np.random.default_rng(0)
        self.lattice = Lattice(problem.lowest, problem.highest)
        groups = [[of[problem.codes[:, j]] for of in attribute.groups] for j, attribute in enumerate(problem.levels)]
        self.costs = [
            [problem.costs.labels[j][level][group] for level, group in enumerate(of)] for j, of in enumerate(groups)
        ]
        self.keys = [
            [random.integers(0, 2**63, int(group.max()) + 1, np.int64)[group] for group in of] for of in groups
        ]
        self._sums = [[float(costs @ problem.counts) for costs in of] for of in self.costs]

    def of_all(self, x: Transformation) -> float:
        """The sum over all records."""
        return sum(of[level] for of, level in zip(self._sums, x, strict=True))


def _taken(
    problem: LocalProblem, order: Iterable[tuple[Transformation, float | None]], costs: _Costs
) -> NDArray[np.int64]:
    k = Judge(problem).smallest
    records = int(problem.counts.sum())
    classes = np.full(len(problem.counts), -1)
    free, number = np.arange(len(classes)), 0
    # The least cost at which rows that were too dear before may come in: nothing changes at thresholds below.
    due: dict[Transformation, float] = {}
    for x, threshold in order:
        rows = free
        if threshold is not None:
            if threshold < due.get(x, 0.0):
                continue
            of = np.asarray(sum(costs.costs[j][level][free] for j, level in enumerate(x))) * records
            rows, dearer = free[of <= threshold], of[of > threshold]
            due[x] = float(dearer.min(initial=np.inf))
        key = np.zeros(len(rows), np.int64)
        for j, level in enumerate(x):
            key += costs.keys[j][level][rows]
        _, group = np.unique(key, return_inverse=True)
        sizes = np.bincount(group, problem.counts[rows])
        large = sizes >= k
        left = int(problem.counts[free].sum()) - sizes[large].sum()
        if 0 < left < k:
            # Other classes may be taken later.
            due.pop(x, None)
            continue
        if not large.any():
            continue
        taken = large[group]
        classes[rows[taken]] = number + (np.cumsum(large) - 1)[group[taken]]
        number += int(large.sum())
        free = free[classes[free] < 0]
        if not len(free):
            break
    assert not len(free), "the most general transformation takes what is left"
    return classes
