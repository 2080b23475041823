"""Best-first branch and bound from the bottom of the lattice, with predictive properties kept as antichains.

Transformations wait in a queue by their lower bound, least first. The first one is settled, and those one level above
it are queued. The bound costs nothing; it comes from the evidence of the most general transformation: no x above can
score less, because nothing above suppresses fewer records than that one does. When the least bound cannot beat the best
transformation found, the rest is excluded: the search is complete.

Most transformations are settled without being counted, by findings at others:

- *too many* records are in classes below the minimum size at some y >= x: then at x too;
- *few enough* are at some y <= x: then at x too;
- *not good enough*: the classes at some y <= x showed that nothing at or above it can be better. Only quality models
  that bound by classes show this; for the others the free bound does;
- a *witness*, a checked y >= x, has evidence that bounds x.

If nothing settles x, transformations above it are checked until one does. The first is the most general one on a path
from x that is not known to have few enough: if it has too many, it settles all below it, and if not, it is a strong
witness. Then those below it on the path follow, down to x itself.

Everything whose free bound is better than the optimum comes first in the queue at some time, so this strategy is for
lattices of up to a few million transformations; where bounds need classes, each transformation that is not known to
have too many is counted, too.

Source: Prasser, Kohlmayer and Kuhn 2016, Efficient and effective pruning strategies for health data de-identification,
BMC Medical Informatics and Decision Making 16:49, for search and properties. There, x itself is checked, and bounds
come from checks. Witnesses and paths are from this project.
"""

import bisect
import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tableveil.control import Control, Progress, Stopped
from tableveil.lattice import Lattice, Transformation
from tableveil.quality import BoundEvidence, Score
from tableveil.search.antichain import Antichain, Inheritance
from tableveil.search.findings import Findings
from tableveil.search.intervals import BY_QUALITY, BY_SUPPRESSION
from tableveil.search.outcome import Key, Problem, SearchOutcome

MEMORY = 512 << 20
"""Bytes for the queue and the findings; classes that bounds may need again have memory of their own (`findings`)."""

WITNESSES = 4096
"""The number of checked transformations that are kept as witnesses, the latest ones; each holds a table of bounds."""


class _Open(NamedTuple):
    """A transformation to be settled: `bound` is the least possible key of it and of all above it.

    Its axes are raised from number `axis` on. So each transformation is reached in one way only, from the one with its
    last raised axis a level lower, and need not be remembered.
    """

    bound: Key
    axis: int
    sharpened: bool = False


def best_first(
    problem: Problem,
    control: Control,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> SearchOutcome:
    """The valid transformation with the least key: score, then sum of levels, then lexicographic order.

    `time_limit` is in seconds; when it is over, or the queue has outgrown `MEMORY`, the best found so far is returned
    with its gap. The most general transformation is checked first, whatever the time, so that there is something to
    return.

    Raises:
        CancelledError: `control` was cancelled.
    """
    return _BestFirst(problem, control, report).run(time_limit)


class _BestFirst:
    def __init__(self, problem: Problem, control: Control, report: Callable[[Progress], None]) -> None:
        self.lattice = problem.lattice
        self.quality = problem.quality
        self.control = control
        self.findings = Findings(problem, control, report)
        self.open: list[_Open] = []
        self.checked: set[Transformation] = set()
        self.too_many = Antichain(Inheritance.DOWNWARDS)
        self.few_enough = Antichain(Inheritance.UPWARDS)
        self.not_good_enough = Antichain(Inheritance.UPWARDS)
        self.witnesses = _Witnesses(len(self.lattice.top))
        # Unchecked transformations known to have too many records in small classes.
        self.by_suppression = 0

    def run(self, time_limit: float | None) -> SearchOutcome:
        strategy, complete = "best_first", True
        try:
            self.top = self.check(self.lattice.top)
            with self.control.searching(None if time_limit is None else self.findings.started + time_limit):
                if self.top is None:
                    self.by_suppression = self.lattice.size - 1
                else:
                    self.rises = _rises(self.lattice, self.top)
                    self.push(_Open(self.free_bound(self.lattice.bottom), 0))
                    complete = self.exhaust()
                    strategy += "" if complete else f", stopped at its limit of {MEMORY >> 20} MiB"
        except Stopped:
            self.control.raise_if_cancelled()
            complete = False
        self.account(complete)
        return self.findings.outcome(strategy, None if complete else self.bound(), complete)

    def exhaust(self) -> bool:
        """Settles transformations, the most promising first; False if memory ran out before all were settled."""
        while self.open:
            self.findings.report_now_and_then(self.bound)
            if self.findings.beaten(self.open[0].bound):
                break
            self.control.raise_if_stopped()
            if self.memory() > MEMORY:
                return False
            first = heapq.heappop(self.open)
            try:
                self.work_on(first)
            except Stopped:
                # The bound of the remaining ones must still cover this one.
                heapq.heappush(self.open, first)
                raise
        return True

    def work_on(self, first: _Open) -> None:
        x = first.bound[2]
        if self.too_many.covers(x):
            self.by_suppression += x not in self.checked
        elif self.quality.bounds_by_classes and not first.sharpened:
            self.sharpen(first)
            return
        elif x not in self.checked and not self.witnesses.rule_out(x, self.findings.beaten):
            self.settle(x)
        self.raise_axes(first)

    def sharpen(self, first: _Open) -> None:
        """Queues it again with the bound from its classes, or excludes it with all above it."""
        x = first.bound[2]
        if len(self.not_good_enough) and self.not_good_enough.covers(x):
            return
        score = self.quality.bound_between(self.findings.look(x), self.lattice.top)
        bound = (max(score, first.bound[0]), *first.bound[1:])
        if self.findings.beaten(bound):
            self.not_good_enough.add(x)
        else:
            self.push(first._replace(bound=bound, sharpened=True))

    def settle(self, x: Transformation) -> None:
        """Checks transformations on a path from x upwards, from the most general one down, until one settles x."""
        path = self.path(x)
        # Both turn from False to True once on the way up.
        unknown = bisect.bisect(path, False, key=self.few_enough.covers)
        promising = bisect.bisect(path, False, key=lambda y: self.findings.beaten(self.free_bound(y)))
        for y in reversed(path[: max(unknown, promising, 1)]):
            if y in self.checked:
                continue
            self.control.raise_if_stopped()
            evidence = self.check(y)
            if y == x:
                return
            if evidence is None:
                self.by_suppression += 1
                return
            if self.findings.beaten((evidence.bound(x), sum(x), x)):
                return

    def path(self, x: Transformation) -> list[Transformation]:
        """From x to the top, always raising the cheapest axis."""
        axes, top = self.lattice.axes, self.lattice.top
        steps = [(self.rises[a][x[axis[0]]], a) for a, axis in enumerate(axes) if x[axis[0]] < top[axis[0]]]
        heapq.heapify(steps)
        path = [x]
        while steps:
            _, a = steps[0]
            level = x[axes[a][0]] + 1
            x = self.lattice.moved(x, axes[a], level)
            path.append(x)
            if level < top[axes[a][0]]:
                heapq.heapreplace(steps, (self.rises[a][level], a))
            else:
                heapq.heappop(steps)
        return path

    def check(self, y: Transformation) -> BoundEvidence | None:
        """Checks y and keeps the findings for others; returns its evidence, or None if it has too many."""
        check = None if self.findings.ruled_out(y) else self.findings.check(y)
        self.checked.add(y)
        if check is None or self.findings.excluded(check):
            self.too_many.add(y)
            return None
        evidence = self.quality.evidence(check)
        self.findings.consider(check, evidence)
        self.few_enough.add(y)
        self.witnesses.add(y, check.below, evidence)
        return evidence

    def raise_axes(self, settled: _Open) -> None:
        """Queues those one level above that are reached from this one."""
        score, _, x = settled.bound
        for number, axis in enumerate(self.lattice.axes[settled.axis :], start=settled.axis):
            if x[axis[0]] < self.lattice.top[axis[0]]:
                free, rank, above = self.free_bound(self.lattice.moved(x, axis, x[axis[0]] + 1))
                self.push(_Open((max(free, score), rank, above), number))

    def push(self, new: _Open) -> None:
        """Queues it unless it is beaten, with all above it."""
        if not self.findings.beaten(new.bound):
            heapq.heappush(self.open, new)

    def free_bound(self, x: Transformation) -> Key:
        """No valid transformation at or above x has a lower key."""
        assert self.top is not None
        return self.top.bound(x), sum(x), x

    def bound(self) -> Score | None:
        """No valid transformation that is not settled scores less than this."""
        return self.open[0].bound[0] if self.open else None

    def memory(self) -> int:
        """Bytes of the queue, the checked transformations and the trees, as measured for CPython 3.11."""
        levels = 8 * len(self.lattice.top)
        nodes = self.too_many.nodes + self.few_enough.nodes + self.not_good_enough.nodes
        return len(self.open) * (320 + levels) + len(self.checked) * (120 + levels) + nodes * 320

    def account(self, complete: bool) -> None:
        """Counts the transformations that were excluded without being checked."""
        pruned = {BY_SUPPRESSION: self.by_suppression}
        if complete:
            # Beaten by their own bounds, by witnesses, or together with all above one that was.
            pruned[BY_QUALITY] = self.lattice.size - self.findings.checked - self.by_suppression
        self.findings.pruned.update({reason: number for reason, number in pruned.items() if number})


class _Witnesses:
    """Checked transformations with few enough records in small classes, with their evidence."""

    def __init__(self, attributes: int) -> None:
        self._at = np.zeros((WITNESSES, attributes), np.int16)
        self._below = np.zeros(WITNESSES, np.int64)
        self._evidence: list[BoundEvidence] = []
        self._next = 0

    def add(self, y: Transformation, below: int, evidence: BoundEvidence) -> None:
        """Keeps a checked transformation, with `below` records in small classes, in place of the oldest."""
        if len(self._evidence) < WITNESSES:
            self._evidence.append(evidence)
        else:
            self._evidence[self._next] = evidence
        self._at[self._next], self._below[self._next] = y, below
        self._next = (self._next + 1) % WITNESSES

    def rule_out(self, x: Transformation, beaten: Callable[[Key], bool]) -> bool:
        """Whether the evidence of the strongest witness above x shows that x is beaten.

        The one with the most records in small classes is the strongest: asking the others, too, saved no check on adult
        and fars.
        """
        above = np.flatnonzero((self._at[: len(self._evidence)] >= np.array(x, np.int16)).all(axis=1))
        if not len(above):
            return False
        strongest = self._evidence[above[self._below[above].argmax()]]
        return beaten((strongest.bound(x), sum(x), x))


def _rises(lattice: Lattice, evidence: BoundEvidence) -> list[list[float]]:
    """Per axis and level, the next level's contribution to the score, by the evidence's guide."""
    steps = [np.diff(column).tolist() for column in evidence.guide]
    return [[sum(levels) for levels in zip(*(steps[j] for j in axis), strict=False)] for axis in lattice.axes]
