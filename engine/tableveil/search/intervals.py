"""Branch and bound over intervals of the lattice, which never stores the lattice.

An interval [lo, hi] stands for all transformations between. Checking hi, that is, counting its classes, gives two facts
about all of them, because a record in a class of fewer than k records at hi is in such a class at every x <= hi:

- if more records are in such classes at hi than may be suppressed, no x <= hi is valid;
- the score of x is at least what the quality model's evidence from hi says for lo. For loss, the bound is the loss at
  lo's levels with exactly these records suppressed.

Intervals wait in a heap, the least bound first, so that the search ends with the first one that cannot beat the best
transformation found. The first one is

- narrowed: levels of an axis that cannot beat the best even if all other axes stay at lo are cut off. The rest has a
  new hi, less general on several axes at once, which costs one check;
- or, if nothing can be cut off, split in two at one level of one axis. The upper part keeps hi, which is checked; the
  lower part has a new hi and costs one check.

A quality model that cannot bound much from hi alone may ask for the classes at lo, too. They are counted when an
interval comes first in the heap, which is late: most intervals never do.
"""

import heapq
from dataclasses import dataclass, replace

from tableveil.control import Stopped
from tableveil.lattice import Transformation
from tableveil.quality import BoundEvidence, Score
from tableveil.search.branching import Branching
from tableveil.search.findings import Findings
from tableveil.search.outcome import Key

BY_SUPPRESSION = "suppression"
BY_QUALITY = "quality"

MEMORY = 768 << 20
"""Bytes that open intervals may take: with the remembered classes and everything else, a search stays under 1 GiB."""


@dataclass(frozen=True, slots=True, order=True)
class _Interval:
    """An open part of the lattice; `bound` is the least possible key of its transformations."""

    bound: Key
    number: int
    lo: Transformation
    hi: Transformation
    evidence: BoundEvidence
    sharpened: bool = False


class IntervalSearch:
    """The open intervals of one search; each `step` works on the most promising one."""

    def __init__(self, findings: Findings, most_open: int | None = None) -> None:
        """Opens the whole lattice, which checks its top.

        When `most_open` intervals are open, as many as fit into `MEMORY` unless given, the search goes deep instead of
        wide: it finishes one interval before it takes the next.
        """
        self._findings = findings
        self._lattice = findings.problem.lattice
        self._quality = findings.problem.quality
        self._branching = Branching(self._lattice)
        self._heap: list[_Interval] = []
        # Once the heap is full: the rest of the latest interval.
        self._deep: list[_Interval] = []
        self._most_open = MEMORY // bytes_of_interval(self._lattice.top) if most_open is None else most_open
        self._numbers = 0
        self._enter(self._lattice.bottom, self._lattice.top, None)

    @property
    def open(self) -> int:
        """Number of open intervals."""
        return len(self._heap) + len(self._deep)

    def exhausted(self) -> bool:
        """Whether no open interval can hold a better transformation; the remaining intervals are then pruned."""
        if self._deep or (self._heap and not self._findings.beaten(self._heap[0].bound)):
            return False
        for interval in self._heap:
            self._findings.prune(interval.lo, interval.hi, BY_QUALITY)
        self._heap.clear()
        return True

    def step(self) -> None:
        """Works on one interval.

        Raises:
            Stopped: `control` says so while classes are counted; nothing is lost, and the bound still covers
                everything.
        """
        interval = self._deep.pop() if self._deep else heapq.heappop(self._heap)
        try:
            self._work_on(interval)
        except Stopped:
            heapq.heappush(self._heap, interval)
            raise

    def bound(self) -> Score | None:
        """No valid transformation in an open interval scores less than this; None if none is open."""
        bounds = [interval.bound[0] for interval in (*self._heap[:1], *self._deep)]
        return min(bounds, default=None)

    def found_elsewhere(self, evidence: BoundEvidence, at: Transformation) -> None:
        """Another search found the best transformation so far, and this is its evidence."""
        self._branching.found_best(evidence, at)

    def _work_on(self, interval: _Interval) -> None:
        if self._findings.beaten(interval.bound):
            self._findings.prune(interval.lo, interval.hi, BY_QUALITY)
        elif interval.lo != interval.hi:
            if self._quality.bounds_by_classes and not interval.sharpened:
                self._sharpen(interval)
                return
            narrowed = self._narrowed(interval)
            if narrowed == interval.hi:
                self._split(interval)
            else:
                self._enter(interval.lo, narrowed, interval.bound[0])
                # Only now: a stop before leaves the whole interval open.
                self._findings.prune(interval.lo, interval.hi, BY_QUALITY, left=narrowed)

    def _sharpen(self, interval: _Interval) -> None:
        """Opens the interval again, with the bound from the classes at lo."""
        score = self._quality.bound_between(self._findings.look(interval.lo), interval.hi)
        bound = (max(score, interval.bound[0]), *interval.bound[1:])
        self._push(replace(interval, bound=bound, sharpened=True))

    def _narrowed(self, interval: _Interval) -> Transformation:
        """The least general hi of an interval that keeps everything that may beat the best."""
        lo, hi = interval.lo, interval.hi
        for axis in self._lattice.axes:
            level = interval.hi[axis[0]]
            while level > lo[axis[0]]:
                upper = self._lattice.moved(lo, axis, level)
                if not self._findings.beaten((interval.evidence.bound(upper), sum(upper), upper)):
                    break
                level -= 1
            hi = self._lattice.moved(hi, axis, level)
        return hi

    def _split(self, interval: _Interval) -> None:
        lo, hi, lower_bound = interval.lo, interval.hi, interval.bound[0]
        split = self._branching.split(interval.evidence, lo, hi)
        entered = self._enter(lo, self._lattice.moved(hi, split.axis, split.level), lower_bound)
        self._branching.learn(split, lo, entered)
        self._open(self._lattice.moved(lo, split.axis, split.level + 1), hi, interval.evidence, lower_bound)

    def _enter(self, lo: Transformation, hi: Transformation, score: Score | None) -> BoundEvidence | None:
        """Checks hi, and opens the interval unless hi excludes it; `score` bounds its scores already."""
        check = None if self._findings.ruled_out(hi) else self._findings.check(hi)
        if check is None or self._findings.excluded(check):
            self._findings.prune(lo, hi, BY_SUPPRESSION)
            return None
        evidence = self._quality.evidence(check)
        if self._findings.consider(check, evidence):
            self._branching.found_best(evidence, hi)
        self._open(lo, hi, evidence, score)
        return evidence

    def _open(self, lo: Transformation, hi: Transformation, evidence: BoundEvidence, known: Score | None) -> None:
        """Opens an interval whose hi was checked."""
        score = evidence.bound(lo)
        if known is not None:
            score = max(score, known)
        self._numbers += 1
        self._push(_Interval((score, sum(lo), lo), self._numbers, lo, hi, evidence))

    def _push(self, interval: _Interval) -> None:
        if self._findings.beaten(interval.bound):
            self._findings.prune(interval.lo, interval.hi, BY_QUALITY)
        elif len(self._heap) < self._most_open:
            heapq.heappush(self._heap, interval)
        else:
            self._deep.append(interval)


def bytes_of_interval(top: Transformation) -> int:
    """The approximate bytes of an open interval with its evidence, measured with tracemalloc on 9 to 60 attributes."""
    return 1500 + 170 * len(top) + 60 * sum(top)
