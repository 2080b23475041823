"""The risk-utility frontier: the optimum for every pair of a k and a suppression limit, in one search of the lattice.

The search is that of `tableveil.search.exact`, for all pairs at once. Checking hi counts its classes once, and their
sizes say for every k how many records are in classes that are too small for it. So:

- the records below each k give each k a bound of its own over [lo, hi];
- limits that these records exceed have nothing valid in [lo, hi];
- hi itself is a candidate for every pair for which it is valid.

An interval stays open while it can hold a better transformation for any pair. Among the remaining limits of a k, the
lowest has the worst optimum, because a transformation that is valid for it is valid for all higher ones: only that
limit need be asked. So an interval has at most one row per k. It waits in a heap by the least of their bounds, and is
split where the search of its strictest row would split it: measured on three tables, splitting for the loosest row
costs up to twice the checks, and agreeing on a place saves none.
"""

import bisect
import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, ClassCounter, Marginals, RememberingCounter
from tableveil.control import SECONDS_BETWEEN_REPORTS, Control, Progress, Stopped
from tableveil.lattice import Lattice, Transformation
from tableveil.privacy import ReleaseRule
from tableveil.quality import BoundEvidence, QualityModel, Score
from tableveil.search.branching import Branching
from tableveil.search.findings import MEMORY_FOR_CLASSES
from tableveil.search.intervals import MEMORY, bytes_of_interval
from tableveil.search.outcome import Candidate, Key, may_be_kept


@dataclass(frozen=True, slots=True)
class FrontierProblem:
    """Find the valid transformation with the least score for each of `rules` and each of `suppressible`.

    `rules` decide which classes may be released, one rule for each k; if the strictest comes last, fewest
    transformations are checked. If it `keeps_suppressed`, suppressed records are released without labels, and a rule
    must hold for them, too. `suppressible` are numbers of records, withheld ones included, in ascending order;
    `quality` holds for the largest.
    """

    lattice: Lattice
    counter: ClassCounter
    quality: QualityModel
    rules: tuple[ReleaseRule, ...]
    suppressible: tuple[int, ...]
    keeps_suppressed: bool = False


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """The findings for one pair: if it is `complete`, `best` is the optimum, or None because nothing is valid.

    No valid transformation scores less than `lower_bound`, which is infinite if nothing is valid.
    """

    best: Candidate | None
    complete: bool
    lower_bound: float


@dataclass(frozen=True, slots=True)
class FrontierOutcome:
    """One row of points per rule; a row has one point per suppressible number of records.

    `checked` of the `lattice_size` transformations were counted.
    """

    points: tuple[tuple[FrontierPoint, ...], ...]
    checked: int
    lattice_size: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every point is complete."""
        return all(point.complete for row in self.points for point in row)


def frontier(
    problem: FrontierProblem,
    control: Control,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> FrontierOutcome:
    """The optimum of every pair, by score, then sum of levels, then lexicographic order.

    `time_limit` is in seconds and for all pairs together; when it is over, pairs that are not complete have the best
    found so far and a proven bound. The most general transformation is checked first, whatever the time.

    Raises:
        CancelledError: `control` was cancelled.
    """
    return _Frontier(problem, control, report).run(time_limit)


@dataclass(frozen=True, slots=True)
class _Row:
    """An interval's state for one rule: `score` bounds it, and `limit` is the lowest limit that its hi keeps."""

    rule: int
    limit: int
    evidence: BoundEvidence
    score: Score


@dataclass(frozen=True, slots=True, order=True)
class _Interval:
    """An open part of the lattice, for the rules in `rows`; `bound` is the least possible key of any of them in it."""

    bound: Key
    number: int
    lo: Transformation
    hi: Transformation
    rows: tuple[_Row, ...]
    sharpened: bool = False


class _SharingCounter(RememberingCounter):
    """Rules that lose the same classes share the records in them."""

    _last: tuple[Transformation, NDArray[np.bool_], Marginals] | None = None

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        if self._last is None or self._last[0] != transformation or not np.array_equal(self._last[1], mask):
            self._last = (transformation, mask, super().records_in(transformation, mask))
        return self._last[2]


class _Frontier:
    def __init__(self, problem: FrontierProblem, control: Control, report: Callable[[Progress], None]) -> None:
        self.problem = problem
        self.lattice = problem.lattice
        self.quality = problem.quality
        self.counter = _SharingCounter(problem.counter, MEMORY_FOR_CLASSES if self.quality.bounds_by_classes else 0)
        self.control = control
        self.report = report
        self.best: list[list[Candidate | None]] = [[None] * len(problem.suppressible) for _ in problem.rules]
        self.branching = [Branching(problem.lattice) for _ in problem.rules]
        self.open: list[_Interval] = []
        # Once there is no room for more rows: the rest of the latest interval, which is finished before another is
        # taken.
        self.deep: list[_Interval] = []
        # A row takes about as much memory as an interval of one search.
        self.room = MEMORY // bytes_of_interval(problem.lattice.top)
        self.intervals = 0
        self.checked = 0
        self.started = self.reported_at = control.now()

    def run(self, time_limit: float | None) -> FrontierOutcome:
        try:
            self.enter(self.lattice.bottom, self.lattice.top, [(rule, None) for rule in range(len(self.best))])
        except Stopped:
            # Only a cancel stops the first check: the time limit is not set yet.
            self.control.raise_if_cancelled()
            raise
        try:
            with self.control.searching(None if time_limit is None else self.started + time_limit):
                while self.open or self.deep:
                    self.report_now_and_then()
                    self.control.raise_if_stopped()
                    self.next(self.deep.pop() if self.deep else self.popped())
        except Stopped:
            self.control.raise_if_cancelled()
        self.report_progress()
        return self.outcome()

    def next(self, interval: _Interval) -> None:
        """Works on an interval, unless it is empty now, or its rest is less promising than another one."""
        if interval.lo == interval.hi:
            return
        rows, bound = self.left(interval.lo, interval.rows)
        if bound is None:
            return
        left = replace(interval, bound=bound, rows=rows)
        if bound > interval.bound and self.open and self.open[0].bound < bound:
            self.keep(left)
            return
        try:
            self.work_on(left)
        except Stopped:
            # The bounds of the rest must still cover this interval.
            self.deep.append(left)
            raise

    def popped(self) -> _Interval:
        interval = heapq.heappop(self.open)
        self.room += len(interval.rows)
        return interval

    def keep(self, interval: _Interval) -> None:
        if self.room > 0:
            heapq.heappush(self.open, interval)
            self.room -= len(interval.rows)
        else:
            self.deep.append(interval)

    def work_on(self, interval: _Interval) -> None:
        if self.quality.bounds_by_classes and not interval.sharpened:
            self.sharpen(interval)
            return
        inherited = [(row.rule, row.score) for row in interval.rows]
        narrowed = self.narrowed(interval)
        if narrowed != interval.hi:
            self.enter(interval.lo, narrowed, inherited)
            return
        strictest = interval.rows[-1]
        branching = self.branching[strictest.rule]
        split = branching.split(strictest.evidence, interval.lo, interval.hi)
        lower = self.enter(interval.lo, self.lattice.moved(interval.hi, split.axis, split.level), inherited)
        branching.learn(split, interval.lo, lower.get(strictest.rule))
        above = self.lattice.moved(interval.lo, split.axis, split.level + 1)
        rows = [replace(row, score=max(row.score, row.evidence.bound(above))) for row in interval.rows]
        self.push(above, interval.hi, rows)

    def narrowed(self, interval: _Interval) -> Transformation:
        """The least general hi of an interval that keeps everything that may be better for any of its rows."""
        lo, hi = interval.lo, interval.hi
        for axis in self.lattice.axes:
            level = interval.hi[axis[0]]
            while level > lo[axis[0]] and self.excluded(interval.rows, self.lattice.moved(lo, axis, level)):
                level -= 1
            hi = self.lattice.moved(hi, axis, level)
        return hi

    def excluded(self, rows: Iterable[_Row], lo: Transformation) -> bool:
        return all(self.beaten(row, (row.evidence.bound(lo), sum(lo), lo)) for row in rows)

    def sharpen(self, interval: _Interval) -> None:
        """Opens the interval again, with the bounds from the classes at lo."""
        rows = []
        for row in interval.rows:
            check = self.look(interval.lo, row.rule)
            rows.append(replace(row, score=max(row.score, self.quality.bound_between(check, interval.hi))))
        self.push(interval.lo, interval.hi, rows, sharpened=True)

    def enter(
        self, lo: Transformation, hi: Transformation, inherited: Sequence[tuple[int, Score | None]]
    ) -> dict[int, BoundEvidence]:
        """Checks hi for these rules, and opens the interval for those that hi does not exclude.

        `inherited` has the known bounds of the scores for each rule.
        """
        self.checked += 1
        rows = []
        for rule, score in inherited:
            check = self.look(hi, rule)
            limit = bisect.bisect_left(self.problem.suppressible, check.below)
            if limit == len(self.problem.suppressible) or self.problem.rules[rule].vetoes(check.classes):
                continue
            evidence = self.quality.evidence(check)
            bound = evidence.bound(lo)
            row = _Row(rule, limit, evidence, bound if score is None else max(bound, score))
            self.consider(row, check)
            rows.append(row)
        self.push(lo, hi, rows)
        return {row.rule: row.evidence for row in rows}

    def look(self, at: Transformation, rule: int) -> Check:
        judge = self.problem.rules[rule]
        return Check(self.counter, at, judge.minimum_class_size, judge if judge.knows_lost else None)

    def push(self, lo: Transformation, hi: Transformation, rows: Sequence[_Row], sharpened: bool = False) -> None:
        """Opens an interval for those rows that may find something better in it."""
        left, bound = self.left(lo, rows)
        if bound is not None:
            self.intervals += 1
            self.keep(_Interval(bound, self.intervals, lo, hi, left, sharpened))

    def left(self, lo: Transformation, rows: Sequence[_Row]) -> tuple[tuple[_Row, ...], Key | None]:
        """The rows that may still find something better from lo on, and the least of their keys; None without rows."""
        left = tuple([row for row in rows if not self.beaten(row, (row.score, sum(lo), lo))])
        return left, (min(row.score for row in left), sum(lo), lo) if left else None

    def consider(self, row: _Row, check: Check) -> None:
        """Keeps the checked transformation for those limits for which it is the best."""
        at = check.at
        if self.beaten(row, (row.evidence.bound(at), sum(at), at)):
            return
        rule = self.problem.rules[row.rule]
        kept = check.among_all(rule.releasable(check.large))
        if self.problem.keeps_suppressed and not may_be_kept(rule, self.counter, check.classes, kept):
            return
        suppressed = self.counter.records - int(check.classes.counts[kept].sum())
        assessment = self.quality.assess(at, check.classes, kept)
        key = (assessment.score, sum(at), at)
        reported = self.quality.reported(assessment.score)
        candidate = Candidate(at, key, reported, assessment.values, suppressed, int(kept.sum()))
        best = self.best[row.rule]
        for limit in range(bisect.bisect_left(self.problem.suppressible, suppressed), len(best)):
            read_best = best[limit]
            if read_best is None or key < read_best.key:
                best[limit] = candidate
                self.branching[row.rule].found_best(row.evidence, at)

    def beaten(self, row: _Row, key: Key) -> bool:
        """Whether a transformation at least as good as the key was found for every limit of the row."""
        best = self.best[row.rule][row.limit]
        return best is not None and key >= best.key

    def report_now_and_then(self) -> None:
        """Reports progress if the last report was a while ago."""
        now = self.control.now()
        if now - self.reported_at >= SECONDS_BETWEEN_REPORTS:
            self.reported_at = now
            self.report_progress()

    def report_progress(self) -> None:
        # There is no single best score or bound to report.
        self.report(Progress(self.checked, self.lattice.size, None, None, None))

    def outcome(self) -> FrontierOutcome:
        bounds = [[math.inf if best is None else best.score for best in row] for row in self.best]
        complete = [[True] * len(row) for row in self.best]
        for interval in (*self.open, *self.deep):
            for row in interval.rows:
                for limit in range(row.limit, len(self.problem.suppressible)):
                    best = self.best[row.rule][limit]
                    if best is None or (row.score, sum(interval.lo), interval.lo) < best.key:
                        complete[row.rule][limit] = False
                        score = self.quality.reported(row.score)
                        bounds[row.rule][limit] = min(bounds[row.rule][limit], score)
        points = [
            tuple(map(FrontierPoint, best, done, bound))
            for best, done, bound in zip(self.best, complete, bounds, strict=True)
        ]
        return FrontierOutcome(tuple(points), self.checked, self.lattice.size, self.control.now() - self.started)
