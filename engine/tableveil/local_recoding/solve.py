"""Local recoding: classes with labels of their own, as cheap as time allows, and a lower bound of all recodings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control, Stopped
from tableveil.errors import InfeasibleError
from tableveil.local_recoding.bound import (
    Allowed,
    PlainBound,
    choices,
    every_level,
    first_choice,
    lower_bound,
    plain_bound,
)
from tableveil.local_recoding.cells import MOST_VISITED, VISITED_QUICKLY, Cells
from tableveil.local_recoding.cheapest_first import cheapest_first
from tableveil.local_recoding.exchanges import Exchanges
from tableveil.local_recoding.judge import Judge
from tableveil.local_recoding.labels import FORBIDDEN, CombinationLabels, renumbered, sets_of
from tableveil.local_recoding.problem import SUPPRESSED, LocalPartition, LocalProblem, LocalProgress
from tableveil.local_recoding.top_down import top_down


def merge_same(labels: CombinationLabels, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Classes with the same labels become one: readers could not tell them apart."""
    rows = np.flatnonzero(classes != SUPPRESSED)
    order, starts = sets_of(classes[rows])
    rows = rows[order]
    sets = labels.of_sets(rows, starts)
    keys = [column.groups[sets.levels[:, j], sets.values[:, j]] for j, column in enumerate(labels.columns)]
    number = np.unique(np.column_stack([sets.levels, *keys]), axis=0, return_inverse=True)[1]
    merged = np.full(len(classes), SUPPRESSED)
    merged[rows] = np.repeat(number, np.diff(starts, append=len(rows)))
    return merged


def merge_until_valid(
    labels: CombinationLabels, counts: NDArray[np.int64], judge: Judge, classes: NDArray[np.int64], control: Control
) -> NDArray[np.int64]:
    """Merges every class that may not be released with the one that adds least to the score, until all may be.

    Combinations that even then are in no valid class, as no label allows it or no class is left, come out suppressed.
    """
    while True:
        control.raise_if_cancelled()
        classes = renumbered(merge_same(labels, classes))
        rows = np.flatnonzero(classes != SUPPRESSED)
        if not len(rows):
            return classes
        order, starts = sets_of(classes[rows])
        rows = rows[order]
        failing = np.flatnonzero(~judge.releasable(rows, starts))
        if not len(failing):
            return classes
        sizes = np.add.reduceat(counts[rows], starts)
        values = labels.values[rows]
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        costs = labels.between(low, high).costs
        left = np.ones(len(starts), np.bool_)
        for number in failing[np.argsort(sizes[failing], kind="stable")]:
            if not left[number]:
                continue
            left[number] = False
            together = labels.between(np.minimum(low, low[number]), np.maximum(high, high[number])).costs
            change = (sizes + sizes[number]) * together - sizes * costs
            change[~left | (together >= FORBIDDEN)] = np.inf
            nearest = int(change.argmin())
            left[nearest] = False
            classes[classes == number] = nearest if np.isfinite(change[nearest]) else SUPPRESSED
            if not np.isfinite(change[nearest]):
                left[nearest] = True


LARGEST_BY_CELL = 200_000
"""Combinations up to which classes are formed cheapest first by cell; more are specialized top down."""

LARGEST_TOGETHER = 100_000
"""Combinations up to which exchanges look at all classes at once; more are looked at in neighbourhoods of so many."""

NEIGHBOURHOOD = 20_000

ROUNDS = 8
"""Exchanges that are made before near classes are looked for again."""

WORTH = 1e-5
"""The share of the score that a round must save for another."""

SHAKE_WORTH = 1e-4
"""The share of the score that a shake must save."""

SHAKES = 3
"""Shakes that may save less."""

LAST = 0.1
"""A longer search may help where this last share of its time still improved the partition."""

SEARCH = 0.8
"""The share of the time left in which classes are formed and improved; the rest is for the bound."""

EARLY_BOUND = 0.1
"""The share of what is left of that in which a first bound is looked for, before classes are improved."""

CONSTRUCTION = 0.7
"""The share of that in which classes are formed by cell; what is free then is specialized top down."""


def recode(
    problem: LocalProblem,
    control: Control,
    beginnings: Sequence[NDArray[np.int64]] = (),
    report: Callable[[LocalProgress], None] = lambda progress: None,
    *,
    bounded: bool = True,
) -> LocalPartition:
    """The best partition found until nothing improves it, or the control stops the search.

    Args:
        problem: The problem to solve.
        control: May stop the work: at a deadline with the best partition so far.
        beginnings: Partitions, such as the optimum of full-domain generalization: nothing worse than a valid one of
            them is returned.
        report: Called with the progress of the work.
        bounded: Whether to look for a lower bound; without, classes are formed more quickly as well.

    Raises:
        InfeasibleError: No valid partition was found.
        CancelledError: `control` was cancelled.
        Stopped: The deadline came before there was any valid partition.
    """
    unit = problem.costs.unit(int(problem.counts.sum()))

    def told(progress: LocalProgress) -> None:
        best, bound = progress.best_score, progress.lower_bound
        report(
            replace(
                progress,
                best_score=None if best is None else best * unit,
                lower_bound=None if bound is None else max(bound * unit, 0.0),
            )
        )

    in_units = replace(problem, costs=problem.costs.times(1 / unit))
    solution = _Recoding(in_units, control, told).run(beginnings, bounded)
    bound = None if solution.lower_bound is None else max(solution.lower_bound * unit, 0.0)
    # Entropy subtracts what records have before: rounding must not make nothing less than nothing.
    return replace(solution, score=max(solution.score * unit, 0.0), lower_bound=bound)


def settle(problem: LocalProblem, control: Control, classes: NDArray[np.int64]) -> LocalPartition:
    """The partition as it is, changed only where it must be to be valid; without a bound.

    Raises:
        InfeasibleError: It could not be made valid.
        CancelledError: `control` was cancelled.
    """
    unit = problem.costs.unit(int(problem.counts.sum()))
    in_units = replace(problem, costs=problem.costs.times(1 / unit))
    settled = _Recoding(in_units, control, lambda progress: None).settle(classes)
    return replace(settled, score=max(settled.score * unit, 0.0))


def specialize(problem: LocalProblem, control: Control, classes: NDArray[np.int64]) -> LocalPartition:
    """The partition with its classes split top down until the control stops it: little work, and without a bound.

    Raises:
        InfeasibleError: The partition itself could not be made valid.
        CancelledError: `control` was cancelled.
    """
    unit = problem.costs.unit(int(problem.counts.sum()))
    in_units = replace(problem, costs=problem.costs.times(1 / unit))
    split = _Recoding(in_units, control, lambda progress: None).specialize(classes)
    return replace(split, score=max(split.score * unit, 0.0))


class _Recoding:
    def __init__(self, problem: LocalProblem, control: Control, report: Callable[[LocalProgress], None]) -> None:
        self._problem = problem
        self._whole = control
        self._control = control.part(SEARCH)
        self._report = report
        self._judge = Judge(problem)
        self._account = ""
        self._rounds = 0
        self._most_visited = MOST_VISITED
        self._best: _Partition | None = None
        self._started = self._gained = self._stopped = control.now()
        self._plain: PlainBound | None = None
        allowed = every_level(problem)
        self._labelled = allowed, CombinationLabels.of(problem.levels, problem.codes, problem.costs.labels, allowed)

    def run(self, beginnings: Sequence[NDArray[np.int64]], bounded: bool) -> LocalPartition:
        allowed = first_choice(self._problem, beginnings[0] if beginnings else None)
        self._most_visited = MOST_VISITED if bounded else VISITED_QUICKLY
        complete = True
        try:
            for classes in beginnings:
                partition = self._partition(allowed, classes)
                # Another policy may have had other limits of levels.
                if partition.score < FORBIDDEN:
                    self._keep(partition, "the partition that was known")
            self._constructed(allowed)
            self._control.raise_if_stopped()
            if bounded:
                self._tell("bound")
                self._plain = plain_bound(self._problem, self._judge, self._control.part(EARLY_BOUND))
            self._improve()
        except Stopped:
            complete, self._stopped = False, self._control.now()
        self._control.raise_if_cancelled()
        if self._best is None:
            if not complete:
                raise Stopped
            raise _nothing_found()
        bound = None
        if bounded:
            self._tell("bound")
            bound = lower_bound(self._problem, self._judge, self._best.classes, self._whole, self._plain)
            self._control.raise_if_cancelled()
        return self._outcome(bound, complete)

    def settle(self, classes: NDArray[np.int64]) -> LocalPartition:
        """The partition, changed where it must be."""
        allowed = first_choice(self._problem, classes)
        if not self._keep(self._partition(allowed, classes), ""):
            classes = classes.copy()
            self._place(self._labels(allowed), classes)
            if not self._keep(self._partition(allowed, classes), ""):
                raise _nothing_found()
        return self._outcome(None, True)

    def specialize(self, classes: NDArray[np.int64]) -> LocalPartition:
        """The partition, its classes split where that saves something."""
        allowed = first_choice(self._problem, classes)
        if not self._keep(self._partition(allowed, classes), "the classes that were known"):
            raise _nothing_found()
        inside = classes != SUPPRESSED
        split = np.full(len(classes), SUPPRESSED)
        split[inside] = renumbered(classes[inside])
        top_down(self._labels(allowed), self._problem.counts, self._judge, self._whole, split)
        self._control.raise_if_cancelled()
        self._keep(self._partition(allowed, split), "top-down specialization of these")
        return self._outcome(None, True)

    def _labels(self, allowed: Allowed) -> CombinationLabels:
        """The labels at these levels, remembered: a search asks for the same ones again and again."""
        if allowed != self._labelled[0]:
            problem = self._problem
            self._labelled = allowed, CombinationLabels.of(problem.levels, problem.codes, problem.costs.labels, allowed)
        return self._labelled[1]

    def _partition(self, allowed: Allowed, classes: NDArray[np.int64]) -> _Partition:
        problem, labels = self._problem, self._labels(allowed)
        inside = classes != SUPPRESSED
        rows = np.flatnonzero(inside)
        order, starts = sets_of(classes[rows])
        rows = rows[order]
        score = problem.costs.constant + problem.costs.suppressed * int(problem.counts[~inside].sum())
        if len(rows):
            sizes = np.add.reduceat(problem.counts[rows], starts)
            score += float(labels.of_sets(rows, starts).costs @ sizes)
        return _Partition(classes, allowed, score)

    def _constructed(self, allowed: Allowed) -> Allowed:
        """Forms classes; for held columns, at one choice of levels after the other while that helps."""
        self._construct(allowed)
        held = choices(self._problem)
        improved = bool(held)
        while improved:
            improved = False
            for j, sets in held.items():
                for levels in sets:
                    other = (*allowed[:j], levels, *allowed[j + 1 :])
                    if levels != allowed[j] and self._construct(other):
                        allowed, improved = other, True
        return allowed

    def _construct(self, allowed: Allowed) -> bool:
        """Whether classes formed at these levels are the best so far."""
        self._tell("construction")
        problem, control = self._problem, self._control
        labels = self._labels(allowed)
        classes = np.full(len(problem.counts), SUPPRESSED)
        how = "cheapest first by cell"
        try:
            if len(classes) > LARGEST_BY_CELL:
                raise Stopped
            everything = np.arange(len(classes))
            part, smallest = control.part(CONSTRUCTION), self._judge.smallest
            cells = Cells(labels, problem.counts, smallest, part, self._most_visited)
            cheapest_first(cells, problem.counts, everything, self._judge, part, classes)
        except Stopped:
            control.raise_if_cancelled()
            if self._best is not None:
                # Whatever is formed after the deadline takes as long as the table is large.
                control.raise_if_stopped()
            how = "top-down specialization" if (classes == SUPPRESSED).all() else f"{how}, the rest top down"
            self._specialize(labels, classes)
        self._place(labels, classes)
        return self._keep(self._partition(allowed, classes), how)

    def _place(self, labels: CombinationLabels, classes: NDArray[np.int64]) -> None:
        """Puts combinations without a class into some: one by one where privacy agrees, else by merging."""
        problem, left = self._problem, np.flatnonzero((classes == SUPPRESSED) & (self._problem.counts > 0))
        if not len(left):
            return
        if (classes != SUPPRESSED).any():
            try:
                self._exchanges(labels, np.arange(len(classes)), classes, FORBIDDEN, 0).place()
            except Stopped:
                self._control.raise_if_cancelled()
            left = left[classes[left] == SUPPRESSED]
        too_many = int(problem.counts[left].sum()) > problem.suppressible
        if too_many or not self._judge.may_suppress_others(classes):
            classes[left] = (
                int(classes.max(initial=SUPPRESSED)) + 1 + np.unique(labels.components()[left], return_inverse=True)[1]
            )
            classes[:] = merge_until_valid(labels, problem.counts, self._judge, classes, self._control)

    def _specialize(self, labels: CombinationLabels, classes: NDArray[np.int64]) -> None:
        """Forms classes of the combinations without one."""
        free = np.flatnonzero(classes == SUPPRESSED)
        widest = np.full(len(classes), SUPPRESSED)
        widest[free] = labels.components()[free]
        formed = renumbered(widest)
        top_down(labels, self._problem.counts, self._judge, self._control, formed)
        classes[free] = formed[free] + int(classes.max(initial=SUPPRESSED)) + 1

    def _exchanges(
        self,
        labels: CombinationLabels,
        rows: NDArray[np.intp],
        classes: NDArray[np.int64],
        suppressed: float,
        suppressible: int,
    ) -> Exchanges:
        counts = self._problem.counts[rows]
        return Exchanges(
            labels.chosen(rows), counts, classes, rows, self._judge, suppressed, suppressible, self._control
        )

    def _improve(self) -> None:
        """Exchanges until they save next to nothing, then shakes until that does not either."""
        best = self._best
        if best is None or not len(best.classes):
            return
        labels = self._labels(best.allowed)
        whole, shakes, random = None, 0, np.random.default_rng(0)
        for number in count():
            self._control.raise_if_stopped()
            self._tell("improvement")
            classes, before = best.classes.copy(), best.score
            movable, suppressible = self._movable(classes)
            try:
                # Neighbourhoods first: they save most of what there is to save in a fraction of the time.
                if len(classes) <= (LARGEST_TOGETHER if number else NEIGHBOURHOOD):
                    whole = whole or self._part(labels, movable, classes, suppressible)
                    whole.improve(classes, WORTH * before, random if shakes else None)
                else:
                    for rows in _neighbourhoods(labels, classes, number):
                        part = self._part(labels, np.intersect1d(rows, movable), classes, suppressible)
                        part.improve(classes, WORTH * before * len(rows) / len(classes))
                        self._tell("improvement")
                        suppressible = part.exchanges.suppressible
            finally:
                changed = not np.array_equal(classes, best.classes)
                improved = self._settled(self._partition(best.allowed, classes)) if changed else None
                if improved is not None and improved.score < best.score:
                    if before - improved.score > SHAKE_WORTH * abs(before):
                        self._gained = self._control.now()
                    self._best = best = improved
                    self._rounds += 1
            if best.classes is not classes:
                # They were changed to be valid: exchanges begin anew.
                whole = None
            saved = before - best.score
            if saved <= (SHAKE_WORTH if shakes else WORTH) * abs(before):
                shakes += 1
            if shakes > SHAKES or (shakes and len(classes) > LARGEST_TOGETHER):
                return

    def _movable(self, classes: NDArray[np.int64]) -> tuple[NDArray[np.intp], int]:
        """The combinations that exchanges may move, and how many more of their records they may suppress.

        Suppressed records that are shown hold together: none joins or leaves them.
        """
        if self._problem.may_show_others is not None:
            return np.flatnonzero(classes != SUPPRESSED), 0
        suppressed = int(self._problem.counts[classes == SUPPRESSED].sum())
        return np.arange(len(classes)), self._problem.suppressible - suppressed

    def _part(
        self, labels: CombinationLabels, rows: NDArray[np.intp], classes: NDArray[np.int64], suppressible: int
    ) -> _Part:
        numbers = np.unique(classes[rows][classes[rows] != SUPPRESSED])
        suppressed = self._problem.costs.suppressed
        return _Part(rows, numbers, self._exchanges(labels, rows, renumbered(classes[rows]), suppressed, suppressible))

    def _keep(self, partition: _Partition, how: str) -> bool:
        """Whether it is valid, and the best so far."""
        settled = self._settled(partition)
        if settled is None or (self._best is not None and settled.score >= self._best.score):
            return False
        self._best, self._account, self._gained = settled, how, self._control.now()
        return True

    def _settled(self, partition: _Partition) -> _Partition | None:
        """The partition, changed if it must be to be valid; None if then more is suppressed than may be.

        Classes with the same labels are one to readers. Most models hold for two classes together if they hold for
        each, but not delta-disclosure with absent values ignored, or the Grassberger estimate of entropy.
        """
        problem, allowed = self._problem, partition.allowed
        labels = self._labels(allowed)
        together = renumbered(merge_same(labels, partition.classes))
        classes = merge_until_valid(labels, problem.counts, self._judge, together, self._control)
        if (classes != together).any():
            partition = self._partition(allowed, classes)
        suppressed = int(problem.counts[partition.classes == SUPPRESSED].sum())
        within = suppressed <= problem.suppressible and self._judge.may_suppress_others(partition.classes)
        return partition if within else None

    def _tell(self, phase: str) -> None:
        best = None if self._best is None else self._best.score
        self._report(LocalProgress(phase, best, None if self._plain is None else self._plain.value))

    def _outcome(self, bound: float | None, complete: bool) -> LocalPartition:
        assert self._best is not None
        problem, best = self._problem, self._best
        labels = self._labels(best.allowed)
        classes = merge_same(labels, best.classes)
        # Nobody is released in a class of people of the population only.
        sizes = np.bincount(classes[classes != SUPPRESSED], problem.counts[classes != SUPPRESSED])
        classes = renumbered(
            np.where((classes != SUPPRESSED) & (np.append(sizes, 0)[classes] > 0), classes, SUPPRESSED)
        )
        final = self._partition(best.allowed, classes)
        rows = np.flatnonzero(classes != SUPPRESSED)
        order, starts = sets_of(classes[rows])
        indices = labels.of_sets(rows[order], starts).levels
        levels = np.empty_like(indices)
        for j, allowed in enumerate(best.allowed):
            levels[:, j] = np.array(allowed)[indices[:, j]]
        rounds = f"{self._rounds} rounds of exchanges" if self._rounds else "no exchange improved it"
        account = f"{self._account}, {rounds}"
        if problem.costs.surrogate is not None:
            account += f"; minimized was {problem.costs.surrogate}"
        gaining = not complete and self._stopped - self._gained <= LAST * (self._stopped - self._started)
        return LocalPartition(classes, levels, final.score, bound, complete, account, gaining)


def _nothing_found() -> InfeasibleError:
    message = "no classes were found that the privacy models release within the level limits"
    return InfeasibleError("INFEASIBLE", message)


@dataclass(frozen=True, slots=True, eq=False)
class _Partition:
    """Classes, the levels that their labels are looked for at, and the score."""

    classes: NDArray[np.int64]
    allowed: Allowed
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Combinations whose classes are improved, and the numbers of these classes."""

    rows: NDArray[np.intp]
    numbers: NDArray[np.int64]
    exchanges: Exchanges

    def improve(self, classes: NDArray[np.int64], enough: float, random: np.random.Generator | None = None) -> None:
        """Improves these in place, whenever it is stopped; with `random` by a shake."""
        try:
            if random is None:
                self.exchanges.improve(ROUNDS, enough)
            else:
                self.exchanges.shake(random)
        finally:
            local = self.exchanges.classes
            classes[self.rows] = np.where(local == SUPPRESSED, SUPPRESSED, np.append(self.numbers, SUPPRESSED)[local])


def _neighbourhoods(labels: CombinationLabels, classes: NDArray[np.int64], number: int) -> list[NDArray[np.intp]]:
    """Combinations by neighbourhoods of whole classes, in another order of columns for each number."""
    order, starts = sets_of(classes)
    columns = np.random.default_rng(number).permutation(len(labels.columns))
    low = np.minimum.reduceat(labels.values[order], starts, axis=0)
    ranks = np.empty(len(starts), np.int64)
    ranks[np.lexsort(low[:, columns].T)] = np.arange(len(starts))
    by_rank = order[np.argsort(np.repeat(ranks, np.diff(starts, append=len(order))), kind="stable")]
    edges = np.flatnonzero(np.diff(classes[by_rank], prepend=-2))
    cuts = edges[np.searchsorted(edges, np.arange(NEIGHBOURHOOD, len(by_rank), NEIGHBOURHOOD), side="right") - 1]
    return [part for part in np.split(by_rank, np.unique(cuts)) if len(part)]
