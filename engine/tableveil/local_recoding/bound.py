"""A lower bound for all local recodings: the least cost of every record, and of the neighbours that its class needs.

**Plain.** A record's class lies in the cell of its label. So no record costs less than the cheapest cell that holds it
and from which any part at all could be released; a suppressed one costs what suppression costs.

**Sharpened.** Let u be numbers per record such that for every cell c and every set S of at least k of its records,
sum of u over S <= |S| cost(c). Classes are such sets, so the sum of u over all records is at most the cost of any
partition. Numbers that are the plain bounds are feasible. Lowering a number keeps every inequality that holds. So any
guess of higher numbers becomes feasible by one walk over the cells, each lowering what breaks its inequality. The worst
set of a cell holds its k records with the highest numbers, and all others whose number is above the cost. These numbers
are a solution of the dual of the linear relaxation of clustering with cells.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control, Stopped
from tableveil.local_recoding.cells import ROUNDING, Cells
from tableveil.local_recoding.judge import Judge
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


Floats = NDArray[np.float64]

SHARPENED = 3
"""Walks over the cells to sharpen the bound, each from what the one before left."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainBound:
    """A bound of the cost of all recodings: the least cost of each combination, `complete` if none was left out."""

    value: float
    least: Floats
    complete: bool


def plain_bound(problem: LocalProblem, judge: Judge, control: Control) -> PlainBound:
    """The plain bound, which needs no classes; it is sound even if the control stops it early."""
    labels = CombinationLabels.of(problem.levels, problem.codes, problem.costs.labels, every_level(problem))
    least, complete = _cheapest(problem, labels, judge, control)
    return PlainBound(problem.costs.constant + _total(problem, least) * (1.0 - ROUNDING), least, complete)


def lower_bound(
    problem: LocalProblem, judge: Judge, classes: NDArray[np.int64], control: Control, plain: PlainBound | None = None
) -> float:
    """No local recoding of the problem costs less; `classes` are a good one, from which higher numbers are guessed.

    It is sound even if the control stops it early. It begins with the plain bound, which may be known.
    """
    labels = CombinationLabels.of(problem.levels, problem.codes, problem.costs.labels, every_level(problem))
    if plain is None or not plain.complete:
        plain = max(plain, plain_bound(problem, judge, control), key=lambda one: -np.inf if one is None else one.value)
    assert plain is not None, "one of them is there"
    best = _total(problem, plain.least)
    if plain.complete and judge.smallest > 1:
        numbers = plain.least
        try:
            for _ in range(SHARPENED):
                numbers = _feasible(labels, problem, judge.smallest, _guess(labels, problem, numbers, classes), control)
                best = max(best, _total(problem, numbers))
        except Stopped:
            pass
    return problem.costs.constant + best * (1.0 - ROUNDING)


def _total(problem: LocalProblem, numbers: Floats) -> float:
    """The sum of the numbers, those of suppressed records replaced by the cost of suppression where it is less."""
    saved = np.maximum(numbers - problem.costs.suppressed, 0.0)
    order = np.argsort(-saved, kind="stable")
    before = np.cumsum(problem.counts[order]) - problem.counts[order]
    out = np.clip(problem.suppressible - before, 0, problem.counts[order])
    return float(numbers @ problem.counts - saved[order] @ out)


def _cheapest(problem: LocalProblem, labels: CombinationLabels, judge: Judge, control: Control) -> tuple[Floats, bool]:
    """Per combination the cost of its cheapest cell that is not excluded, or less; and whether all were found."""
    counts = problem.counts
    cells = Cells(labels, counts, judge.smallest, control)
    least = np.full(len(counts), np.inf)
    ceilings = np.where(counts > 0, np.inf, -1.0)
    everything = np.arange(len(counts))

    def note(members: NDArray[np.intp], starts: NDArray[np.intp], costs: Floats) -> None:
        possible = judge.may_hold_released(members, starts)
        lengths = np.diff(starts, append=len(members))
        chosen = np.repeat(possible, lengths)
        rows = members[chosen]
        np.minimum.at(least, rows, np.repeat(costs[possible], lengths[possible]))
        ceilings[rows] = np.minimum(ceilings[rows], least[rows])

    reached = 0.0
    try:
        for band in cells.bands():
            if not np.isinf(ceilings).any():
                break
            cells.within(band, everything, ceilings, False, note, overlapping=True)
            ceilings[np.isfinite(least)] = -1.0
            reached = max(band[1], 0.0)
    except Stopped:
        control.raise_if_cancelled()
        # The cost of open combinations is above all bands that are done.
        return np.where(counts > 0, np.minimum(least, reached), 0.0), False
    # A combination that no cell may hold is suppressed.
    return np.where(counts > 0, np.minimum(least, max(reached, problem.costs.suppressed)), 0.0), True


def _guess(labels: CombinationLabels, problem: LocalProblem, numbers: Floats, classes: NDArray[np.int64]) -> Floats:
    """Higher numbers: the excess of a class's cost over the numbers of its records is blamed on the highest numbers."""
    guess = numbers.copy()
    rows = np.flatnonzero((classes != SUPPRESSED) & (problem.counts > 0))
    order, starts = sets_of(classes[rows])
    rows = rows[order]
    lengths = np.diff(starts, append=len(rows))
    counts = problem.counts[rows]
    costs = labels.of_sets(rows, starts).costs * np.add.reduceat(counts, starts)
    beyond = np.maximum(costs - np.add.reduceat(counts * numbers[rows], starts), 0.0)
    shares = (numbers[rows] / np.repeat(np.maximum(np.maximum.reduceat(numbers[rows], starts), 1e-300), lengths)) ** 4
    whole = np.add.reduceat(counts * shares, starts)
    guess[rows] += shares * np.repeat(np.divide(beyond, whole, out=np.zeros_like(beyond), where=whole > 0), lengths)
    return guess


def _feasible(
    labels: CombinationLabels, problem: LocalProblem, smallest: int, guess: Floats, control: Control
) -> Floats:
    """The numbers, lowered where they break the inequality of a cell."""
    counts, numbers = problem.counts, guess.copy()

    def lower(members: NDArray[np.intp], starts: NDArray[np.intp], costs: Floats) -> None:
        sets = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(members)))
        above = numbers[members] - costs[sets]
        order = np.lexsort((-above, sets))
        members, above = members[order], above[order]
        weights = counts[members]
        before = np.cumsum(weights) - weights
        before -= before[starts][sets]
        needed = np.clip(smallest - before, 0, weights)
        positive = np.add.reduceat(np.maximum(above, 0.0) * weights, starts)
        negative = np.add.reduceat(np.maximum(-above, 0.0) * needed, starts)
        broken = positive > negative
        factors = np.where(broken, negative / np.where(broken, positive, 1.0), 1.0)
        numbers[members] -= np.maximum(above, 0.0) * (1.0 - factors[sets])

    highest = float(numbers.max(initial=0.0))
    Cells(labels, counts, smallest, control).within((-1.0, highest), np.arange(len(counts)), numbers, False, lower)
    return numbers
