"""Exact search: branch and bound over intervals of the lattice, which never stores the lattice.

An interval [lo, hi] stands for all transformations between. Checking hi, that is, counting its classes, tells two
things about all of them, because a record in a class of fewer than k records at hi is in such a class at every x <= hi:

- if more records are in such classes at hi than may be suppressed, no x <= hi is valid;
- the score of x is at least what the quality model's evidence from hi says for lo. For loss, that is the loss at lo's
  levels with exactly these records suppressed.

Intervals wait in a heap, the least bound first, so that the first one that cannot beat the best transformation found
ends the search. The one that comes first is

- narrowed: levels of an axis that cannot beat the best even if all other axes stay at lo are cut off. What is left
  has a new hi, less general on several axes at once, which costs one check;
- or, if nothing can be cut off, split in two at one level of one axis. The upper part keeps hi, which is checked; the
  lower part has a new hi and costs one check.

Where to split is learned: the best place is where the upper part's bound rises most and where, in earlier splits, the
lower part's bound rose most. Both count as shares of what is missing to exclude the part.

A quality model that cannot bound much from hi alone may ask for the classes at lo too. They are counted when an
interval comes first in the heap, which is late: most intervals never do.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

from tableveil.lattice import Transformation
from tableveil.quality import Evidence, Score
from tableveil.search.branching import Branching
from tableveil.search.control import Control, Stopped
from tableveil.search.findings import Findings
from tableveil.search.outcome import Key, Progress, SearchOutcome
from tableveil.search.problem import Problem

BY_SUPPRESSION = "suppression"
BY_QUALITY = "quality"


@dataclass(frozen=True, slots=True, order=True)
class _Interval:
    """An open part of the lattice; `bound` is the least key any of its transformations can have."""

    bound: Key
    number: int
    lo: Transformation
    hi: Transformation
    evidence: Evidence
    sharpened: bool = False


def exact(
    problem: Problem,
    control: Control,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> SearchOutcome:
    """The valid transformation with the least key: score, then sum of levels, then lexicographic order.

    `time_limit` is in seconds; when it is over, the best found so far is returned with its gap. The most general
    transformation is checked first and whatever the time, so that there is something to return.

    Raises:
        CancelledError: `control` was cancelled.
    """
    return _Exact(problem, control, report).run(time_limit)


class _Exact:
    def __init__(self, problem: Problem, control: Control, report: Callable[[Progress], None]) -> None:
        self.problem = problem
        self.lattice = problem.lattice
        self.quality = problem.quality
        self.control = control
        self.findings = Findings(problem, control, report)
        self.branching = Branching(problem.lattice)
        self.open: list[_Interval] = []
        self.intervals = 0

    def run(self, time_limit: float | None) -> SearchOutcome:
        complete = True
        try:
            self.enter(self.lattice.bottom, self.lattice.top)
            if time_limit is not None:
                self.control.limit(self.findings.started + time_limit)
            self.exhaust()
        except Stopped:
            self.control.raise_if_cancelled()
            complete = False
        finally:
            self.control.limit(None)
        return self.findings.outcome("exact", self.bound(), complete)

    def exhaust(self) -> None:
        """Works on intervals, the most promising first, until none can hold a better transformation."""
        while self.open:
            self.findings.report_now_and_then(self.bound())
            if self.findings.beaten(self.open[0].bound):
                break
            self.control.raise_if_stopped()
            interval = heapq.heappop(self.open)
            if interval.lo == interval.hi:
                continue
            try:
                self.work_on(interval)
            except Stopped:
                # The bound of what is left must still cover this interval.
                heapq.heappush(self.open, interval)
                raise
        for interval in self.open:
            self.findings.prune(interval.lo, interval.hi, BY_QUALITY)
        self.open.clear()

    def work_on(self, interval: _Interval) -> None:
        if self.quality.bounds_by_classes and not interval.sharpened:
            self.sharpen(interval)
            return
        narrowed = self.narrowed(interval)
        if narrowed == interval.hi:
            self.split(interval)
        else:
            self.enter(interval.lo, narrowed, interval.bound[0])
            # Only now: a stop inside leaves the whole interval open.
            self.findings.prune(interval.lo, interval.hi, BY_QUALITY, left=narrowed)

    def narrowed(self, interval: _Interval) -> Transformation:
        """The least general hi of an interval that keeps everything that may beat the best."""
        lo, hi = interval.lo, interval.hi
        for axis in self.lattice.axes:
            level = interval.hi[axis[0]]
            while level > lo[axis[0]] and self.beaten(interval.evidence, self.lattice.moved(lo, axis, level)):
                level -= 1
            hi = self.lattice.moved(hi, axis, level)
        return hi

    def beaten(self, evidence: Evidence, lo: Transformation) -> bool:
        return self.findings.beaten((evidence.bound(lo), sum(lo), lo))

    def split(self, interval: _Interval) -> None:
        axis, level = self.branching.place(interval.evidence, interval.lo, interval.hi)
        found = self.enter(interval.lo, self.lattice.moved(interval.hi, axis, level), interval.bound[0])
        self.branching.learn((axis, level), interval.lo, interval.evidence, found)
        self.add(self.lattice.moved(interval.lo, axis, level + 1), interval.hi, interval.evidence, interval.bound[0])

    def enter(self, lo: Transformation, hi: Transformation, inherited: Score | None = None) -> Evidence | None:
        """Checks hi, and opens the interval unless hi excludes it; `inherited` is what already bounds its scores."""
        check = self.findings.check(hi)
        if self.findings.excluded(check):
            self.findings.prune(lo, hi, BY_SUPPRESSION)
            return None
        evidence = self.quality.evidence(check)
        self.findings.consider(check, evidence)
        if self.findings.best is not None and self.findings.best.transformation == hi:
            self.branching.found_best(evidence, hi)
        self.add(lo, hi, evidence, inherited)
        return evidence

    def add(self, lo: Transformation, hi: Transformation, evidence: Evidence, inherited: Score | None) -> None:
        """Opens an interval whose hi was checked."""
        score = evidence.bound(lo)
        if inherited is not None:
            score = max(score, inherited)
        self.push(_Interval((score, sum(lo), lo), self.next_number(), lo, hi, evidence))

    def push(self, interval: _Interval) -> None:
        """Opens the interval unless it is beaten already."""
        if self.findings.beaten(interval.bound):
            self.findings.prune(interval.lo, interval.hi, BY_QUALITY)
        else:
            heapq.heappush(self.open, interval)

    def sharpen(self, interval: _Interval) -> None:
        """Opens the interval again, with the bound that the classes at lo give."""
        score = self.quality.bound_between(self.findings.look(interval.lo), interval.hi)
        bound = (max(score, interval.bound[0]), *interval.bound[1:])
        self.push(replace(interval, bound=bound, sharpened=True))

    def next_number(self) -> int:
        self.intervals += 1
        return self.intervals

    def bound(self) -> Score | None:
        """No valid transformation in an open interval scores less than this."""
        return self.open[0].bound[0] if self.open else None
