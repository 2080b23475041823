"""Exact search: branch and bound over intervals of the lattice, which never stores the lattice.

An interval [lo, hi] stands for all transformations between. Checking hi, that is, counting its classes, tells two
things about all of them, because a record in a class of fewer than k records at hi is in such a class at every x <= hi:

- if more records are in such classes at hi than may be suppressed, no x <= hi is valid;
- the score of x is at least what the quality model's evidence from hi says for lo. For loss, that is the loss at lo's
  levels with exactly these records suppressed.

An interval that survives is split in two at one level of one axis. The upper part keeps hi, which is checked; the
lower part has a new hi and costs one check. Intervals wait in a heap, the least bound first, so that the first one that
cannot beat the best transformation found ends the search.

A quality model that cannot bound much from hi alone may ask for the classes at lo too. They are counted when an
interval comes first in the heap, which is late: most intervals never do.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

from tableveil.lattice import Axis, Transformation
from tableveil.quality import Evidence, Score
from tableveil.search.control import Control, Stopped
from tableveil.search.findings import Findings
from tableveil.search.outcome import Key, Progress, SearchOutcome
from tableveil.search.problem import Problem

BY_SUPPRESSION = "suppression"
BY_LOSS = "loss"


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
        """Splits intervals, the most promising first, until none can hold a better transformation."""
        while self.open:
            self.findings.report_now_and_then(self.bound())
            if self.findings.beaten(self.open[0].bound):
                break
            self.control.raise_if_stopped()
            interval = heapq.heappop(self.open)
            if interval.lo == interval.hi:
                continue
            try:
                if self.quality.bounds_by_classes and not interval.sharpened:
                    self.sharpen(interval)
                else:
                    self.split(interval)
            except Stopped:
                # The bound of what is left must still cover this interval.
                heapq.heappush(self.open, interval)
                raise
        for interval in self.open:
            self.findings.prune(interval.lo, interval.hi, BY_LOSS)
        self.open.clear()

    def split(self, interval: _Interval) -> None:
        axis, level = self.widest_gap(interval)
        self.enter(interval.lo, self.lattice.moved(interval.hi, axis, level), interval.bound[0])
        upper = self.lattice.moved(interval.lo, axis, level + 1)
        self.add(upper, interval.hi, interval.evidence, interval.bound[0])

    def enter(self, lo: Transformation, hi: Transformation, inherited: Score | None = None) -> None:
        """Checks hi, and opens the interval unless hi excludes it; `inherited` is what already bounds its scores."""
        check = self.findings.check(hi)
        if self.findings.excluded(check):
            self.findings.prune(lo, hi, BY_SUPPRESSION)
            return
        evidence = self.quality.evidence(check)
        self.findings.consider(check, evidence)
        self.add(lo, hi, evidence, inherited)

    def add(self, lo: Transformation, hi: Transformation, evidence: Evidence, inherited: Score | None) -> None:
        """Opens an interval whose hi was checked."""
        score = evidence.bound(lo)
        if inherited is not None:
            score = max(score, inherited)
        self.push(_Interval((score, sum(lo), lo), self.next_number(), lo, hi, evidence))

    def push(self, interval: _Interval) -> None:
        """Opens the interval unless it is beaten already."""
        if self.findings.beaten(interval.bound):
            self.findings.prune(interval.lo, interval.hi, BY_LOSS)
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

    def widest_gap(self, interval: _Interval) -> tuple[Axis, int]:
        """The axis and the level after which to split: where the guide rises most from one level to the next.

        Then the upper part's bound rises most, and the lower part's check tells most.
        """
        guide = interval.evidence.guide
        gaps = [
            (sum(float(guide[j][level + 1] - guide[j][level]) for j in axis), axis, level)
            for axis in self.lattice.axes
            for level in range(interval.lo[axis[0]], interval.hi[axis[0]])
        ]
        # The first of the widest.
        _, axis, level = max(gaps, key=lambda gap: gap[0])
        return axis, level
