"""Which levels columns may have: all within the limits, or few where a column is held."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tableveil.local_recoding.labels import CombinationLabels, sets_of
from tableveil.local_recoding.problem import SUPPRESSED, LocalProblem

Allowed = tuple[tuple[int, ...], ...]
"""Per quasi-identifier the levels that its labels may have, ascending."""


def every_level(problem: LocalProblem) -> Allowed:
    """All within the limits."""
    return tuple(tuple(range(low, high + 1)) for low, high in zip(problem.lowest, problem.highest, strict=True))


def choices(problem: LocalProblem) -> dict[int, list[tuple[int, ...]]]:
    """Per held column, the sets of levels that it may be released at: as many as are permitted."""
    return {
        j: [problem.held_at[j]] if j in problem.held_at else list(combinations(levels, problem.most_levels[j]))
        for j, levels in enumerate(every_level(problem))
        if problem.most_levels.get(j, len(levels)) < len(levels)
    }


def first_choice(problem: LocalProblem, incumbent: NDArray[np.int64] | None) -> Allowed:
    """Held columns at the most general levels; or at those of the incumbent, so that nothing worse is found."""
    allowed = list(every_level(problem))
    highest, held = np.array(problem.highest), choices(problem)
    if held and incumbent is not None:
        labels = CombinationLabels.of(problem.levels, problem.codes, problem.costs.labels, allowed)
        rows = np.flatnonzero(incumbent != SUPPRESSED)
        order, starts = sets_of(incumbent[rows])
        if len(starts):
            highest = labels.of_sets(rows[order], starts).levels.max(axis=0) + problem.lowest
    for j, sets in held.items():
        # The highest that is needed, and the most specific ones below it.
        allowed[j] = min((s for s in sets if highest[j] in s), key=lambda s: (s[-1] != highest[j], s), default=sets[-1])
    return tuple(allowed)
