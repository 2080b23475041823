"""Searches levels of people's and events' columns together: by forced losses first, then by repairs of the best few.

Forced losses bound the score of a transformation from below, and of all finer ones. Intervals of the lattice are taken
by the least bound, so transformations come in the order of their bounds. One whose repair loses no more than the bound
of the next is proven to be the best: at m = 1 that is the first one, unless an anchor or a sensitive share costs more.
At m = 2 repairs lose much more than bounds say. There a search among neighbours compares repairs of a sample of whole
classes, and the best few are repaired wholly.
"""

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control, Progress, Stopped
from tableveil.lattice import Transformation
from tableveil.repair.anchor import AnchorLabels, repaired_with_anchor
from tableveil.repair.facts import Ints, RowFacts
from tableveil.repair.problem import Evaluated, Evaluation, RelatedProblem

FEW = 3
"""So many transformations are repaired wholly where a sample compares them."""

MANY = 8
"""So many of the best have all of their neighbours compared, if each comparison is a repair."""

SAMPLE = 300_000
"""Facts of a sample of classes; up to so many are all compared."""

MOST_COMPARED = 150
"""The most transformations that are compared by a sample."""

ROUNDING = 1e-12
"""Scores that differ by so little are equal."""

Key = tuple[float, int, Transformation]


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """A transformation with its repair.

    `class_of` has each person's class, -1 if suppressed. `labels` has the label of each combination of events. Per
    fact at these labels, so many rows are `kept`; `fact_of` has the fact of each fact of the problem. `losses` are
    those of the columns, and `removed` the rows of each event table that are not kept.
    """

    at: Transformation
    score: float
    losses: tuple[float, ...]
    suppressed: int
    removed: tuple[int, ...]
    class_of: Ints
    labels: Ints
    number: int
    facts: RowFacts
    kept: Ints
    fact_of: NDArray[np.int64]

    @property
    def key(self) -> Key:
        """The order of preference."""
        return self.score, sum(self.at), self.at


@dataclass(frozen=True, slots=True, eq=False)
class RelatedOutcome:
    """The best repair found, if any meets the policy, and the proof: no score is below `lower_bound`.

    `least` is the repair that comes nearest to the limits, if none meets them. `evaluated` transformations had their
    forced losses counted, a sample compared `sampled`, and `repaired` were repaired wholly.
    """

    best: Repaired | None
    least: Repaired | None
    complete: bool
    lower_bound: float
    evaluated: int
    sampled: int
    repaired: int
    seconds: float


Permits = Callable[[Repaired], bool]
"""Whether a repair keeps promises that it does not look at: shares of sensitive values."""


def search_related(
    problem: RelatedProblem,
    anchor: AnchorLabels | None,
    permits: Permits,
    control: Control,
    limit: float,
    report: Callable[[Progress], None] = lambda progress: None,
) -> RelatedOutcome:
    """The best levels and their repair; `limit` bounds the seconds of comparing, not of what is repaired at last."""
    return _Search(problem, anchor, permits, control, report).run(limit)


class _Search:
    def __init__(
        self,
        problem: RelatedProblem,
        anchor: AnchorLabels | None,
        permits: Permits,
        control: Control,
        report: Callable[[Progress], None],
    ) -> None:
        self._problem, self._anchor, self._permits = problem, anchor, permits
        self._control, self._report = control, report
        self._evaluation = Evaluation(problem)
        self._repaired_at: set[Transformation] = set()
        self._least: Repaired | None = None
        self._best: Repaired | None = None
        self._evaluated = 0
        self._sampled = 0
        self._bound = 0.0
        self._nearest: Transformation | None = None
        self._least_score = math.inf
        self._began = control.now()

    def run(self, limit: float) -> RelatedOutcome:
        ordered = self._ordered()
        try:
            with self._control.searching(self._began + limit if math.isfinite(limit) else None):
                first = next(ordered, None)
                if first is not None and self._problem.m == 1:
                    self._in_order(first, ordered)
                elif first is not None:
                    self._among_neighbours(first.at)
        except Stopped:
            self._control.raise_if_cancelled()
        # Something valid is worth more than the time.
        for at in (self._nearest, self._problem.lattice.top):
            if self._best is None and at is not None and at not in self._repaired_at:
                self._repair(at)
        seconds = self._control.now() - self._began
        bound, score = self._bound, self._best.score if self._best is not None else math.inf
        complete = score <= bound + ROUNDING
        counts = self._evaluated, self._sampled, len(self._repaired_at)
        return RelatedOutcome(self._best, self._least, complete, min(bound, score), *counts, seconds)

    def _in_order(self, first: Evaluated, ordered: Iterator[Evaluated]) -> None:
        """Repairs in the order of bounds until the best is proven."""
        at: Evaluated | None = first
        while at is not None and (self._best is None or self._bound + ROUNDING < self._best.score):
            self._repair(at.at)
            at = next(ordered, None)

    def _among_neighbours(self, start: Transformation) -> None:
        """Repairs the best few of those that a sample compares, by steps from the start and from the top."""
        problem = self._problem
        compared: dict[Transformation, tuple[bool, float, Key]] = {}
        expanded: set[Transformation] = set()
        whole = len(problem.facts) <= SAMPLE
        beam = MANY if whole else FEW

        def compare(at: Transformation) -> None:
            if at in compared:
                return
            self._control.raise_if_stopped()
            found = self._repair(at) if whole else self._repaired(at, SAMPLE)
            self._sampled += not whole
            compared[at] = (*self._excess(found)[:2], found.key)
            self._tell()

        try:
            compare(problem.lattice.top)
            compare(start)
            if whole and problem.lattice.size <= MOST_COMPARED:
                for at in problem.lattice:
                    compare(at)
            while len(compared) < MOST_COMPARED:
                best = sorted(compared, key=lambda at: compared[at])[:beam]
                open_ = [one for one in best if one not in expanded]
                if not open_:
                    break
                expanded.add(open_[0])
                for neighbour in _neighbours(problem, open_[0]):
                    compare(neighbour)
        finally:
            if not whole and not self._control.cancelled:
                ranked = sorted(compared, key=lambda at: compared[at])
                for at in ranked[:FEW]:
                    self._repair(at)
                for at in ranked[FEW : 3 * FEW]:
                    if self._best is None:
                        self._repair(at)

    def _ordered(self) -> Iterator[Evaluated]:
        """The transformations that may be valid, by the bounds of their scores, ascending."""
        problem, lattice = self._problem, self._problem.lattice
        waiting: list[tuple[Key, Transformation, int]] = []
        known: list[Evaluated] = []

        def add(lo: Transformation, hi: Transformation, of: int | None) -> None:
            if of is None:
                self._control.raise_if_stopped()
                evaluated = self._evaluation.evaluate(hi)
                self._evaluated += 1
                self._tell()
                if evaluated.suppressed > problem.suppressible or sum(evaluated.removed) > problem.removable:
                    return
                if (score := self._evaluation.bound(evaluated, hi)) < self._least_score:
                    self._nearest, self._least_score = hi, score
                known.append(evaluated)
                of = len(known) - 1
            heapq.heappush(waiting, ((self._evaluation.bound(known[of], lo), sum(lo), lo), hi, of))

        add(lattice.bottom, lattice.top, None)
        while waiting:
            (bound, _, lo), hi, of = heapq.heappop(waiting)
            self._bound = max(self._bound, bound)
            if lo == hi:
                yield known[of]
                continue
            axis = _widest(self._evaluation, known[of], lo, hi)
            middle = (lo[axis] + hi[axis]) // 2
            add(lo, _moved(hi, axis, middle), None)
            add(_moved(lo, axis, middle + 1), hi, of)
        self._bound = math.inf

    def _repair(self, at: Transformation) -> Repaired:
        """Repairs wholly, and keeps the result if it is the best, or the nearest to the limits: each takes memory."""
        found = self._repaired(at, None)
        self._repaired_at.add(at)
        if self._least is None or self._excess(found) < self._excess(self._least):
            self._least = found
        better = self._best is None or found.key < self._best.key
        if better and not self._excess(found)[0] and self._permits(found):
            self._best = found
        return found

    def _excess(self, found: Repaired) -> tuple[bool, float, Key]:
        """Whether limits are exceeded, by how many people and rows, and the order of preference."""
        over = max(0, found.suppressed - self._problem.suppressible)
        over += max(0, sum(found.removed) - self._problem.removable)
        return over > 0, float(over), found.key

    def _repaired(self, at: Transformation, sample: int | None) -> Repaired:
        return repaired_at(self._problem, self._evaluation, self._anchor, at, sample)

    def _tell(self) -> None:
        best = self._best
        suppressed = best.suppressed / max(len(self._problem.combination_of), 1) if best else None
        size = self._problem.lattice.size
        # Levels that nobody repaired yet may all score more than the best.
        bound = min(self._bound, best.score if best else math.inf)
        told = None if math.isinf(bound) else bound
        self._report(Progress(self._evaluated, size, best.score if best else None, told, suppressed))


def repaired_at(
    problem: RelatedProblem, evaluation: Evaluation, anchor: AnchorLabels | None, at: Transformation, sample: int | None
) -> Repaired:
    """The repair at a transformation; of a sample of classes with about so many facts, figures are scaled up."""
    classes, _ = evaluation.classes(at)
    class_of = classes[problem.combination_of]
    labels, number = evaluation.labels(at)
    base, scale = problem.facts, 1.0
    chosen = class_of
    if sample is not None:
        chosen = _sampled(class_of, base, sample)
        within = chosen[base.people] >= 0
        of_classes = np.count_nonzero(class_of[base.people] >= 0)
        scale = of_classes / max(np.count_nonzero(within), 1)
        base = base.selected(within)
    facts, fact_of = RowFacts.grouped(base.people, labels[base.labels], base.counts, number)
    flags = anchor.of_labels(labels, number, at) if anchor is not None else None
    kept = repaired_with_anchor(facts, chosen, problem.k, problem.m, flags)
    share = kept / np.maximum(facts.counts, 1)
    rows = base.counts * share[fact_of] * scale
    losses, removed = evaluation.losses(at, classes, base.labels, rows)
    score = float(np.dot(evaluation.weights, losses)) if losses else 0.0
    suppressed = int(np.count_nonzero(class_of < 0))
    return Repaired(at, score, losses, suppressed, removed, class_of, labels, number, facts, kept, fact_of)


def _sampled(class_of: Ints, facts: RowFacts, most: int) -> Ints:
    """The classes of people in random whole classes with about so many facts; -1 for all others."""
    number = int(class_of.max(initial=-1)) + 1
    of_facts = class_of[facts.people]
    sizes = np.bincount(of_facts[of_facts >= 0], minlength=number)
    order = np.random.default_rng(number).permutation(number)
    taken = np.zeros(number + 1, np.bool_)
    taken[order[: 1 + int(np.searchsorted(np.cumsum(sizes[order]), most))]] = True
    taken[-1] = False
    return np.where(taken[class_of], class_of, -1).astype(np.int32)


def _neighbours(problem: RelatedProblem, at: Transformation) -> Iterator[Transformation]:
    lattice = problem.lattice
    for axis, level in enumerate(at):
        for other in (level - 1, level + 1):
            if lattice.bottom[axis] <= other <= lattice.top[axis]:
                yield _moved(at, axis, other)


def _widest(evaluation: Evaluation, known: Evaluated, lo: Transformation, hi: Transformation) -> int:
    """The column whose levels differ most in what they cost."""
    costs = [
        (weight * float(of[high] - of[low]), high - low)
        for weight, of, low, high in zip(evaluation.weights, known.bounds, lo, hi, strict=True)
    ]
    return max((axis for axis, (_, steps) in enumerate(costs) if steps), key=lambda axis: costs[axis])


def _moved(at: Transformation, axis: int, level: int) -> Transformation:
    return (*at[:axis], level, *at[axis + 1 :])
