"""Exact search: branch and bound over intervals of the lattice, which never stores the lattice.

An interval [lo, hi] stands for all transformations between. Checking hi, that is, counting its classes, tells two
things about all of them, because a record in a class of fewer than k records at hi is in such a class at every x <= hi:

- if more records are in such classes at hi than may be suppressed, no x <= hi is valid;
- the loss of x is at least what T, the loss with exactly these records suppressed, says at x's levels; T grows with the
  level, so that lo's levels bound the interval.

An interval that survives is split in two at one level of one attribute. The upper part keeps hi, which is checked; the
lower part has a new hi and costs one check. Intervals wait in a heap, the least bound first, so that the first one that
cannot beat the best transformation found ends the search.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.lattice import Lattice, Transformation
from tableveil.privacy import ReleaseRule
from tableveil.quality import Loss
from tableveil.search.control import Control, Stopped
from tableveil.search.outcome import Candidate, Infeasible, Key, Progress, SearchOutcome

RUNNERS_UP = 10
SECONDS_BETWEEN_REPORTS = 0.1

BY_SUPPRESSION = "suppression"
BY_LOSS = "loss"

Table = tuple[NDArray[np.float64], ...]
"""Per quasi-identifier and level, the loss that T_hi of the module's text bounds."""


@dataclass(frozen=True, slots=True, order=True)
class _Interval:
    """An open part of the lattice; `bound` is the least key any of its transformations can have."""

    bound: Key
    number: int
    lo: Transformation
    hi: Transformation
    table: Table


def minimize(
    lattice: Lattice,
    counter: ClassCounter,
    privacy: ReleaseRule,
    quality: Loss,
    suppressible: int,
    control: Control,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> SearchOutcome:
    """The valid transformation of the lattice with the least key: score, then sum of levels, then lexicographic order.

    Valid means that at most `suppressible` records, withheld ones included, are in classes that `privacy` does not
    release. `time_limit` is in seconds; when it is over, the best found so far is returned with its gap. The most
    general transformation is checked first and whatever the time, so that there is something to return.

    Raises:
        CancelledError: `control` was cancelled.
    """
    search = _Search(lattice, counter, privacy, quality, suppressible, control, report)
    return search.run(time_limit)


class _Search:
    def __init__(
        self,
        lattice: Lattice,
        counter: ClassCounter,
        privacy: ReleaseRule,
        quality: Loss,
        suppressible: int,
        control: Control,
        report: Callable[[Progress], None],
    ) -> None:
        self.lattice = lattice
        self.counter = counter
        self.privacy = privacy
        self.quality = quality
        self.suppressible = suppressible
        self.control = control
        self.report = report
        self.started = self.reported_at = control.now()
        self.checked = 0
        self.pruned: Counter[str] = Counter()
        self.found: list[Candidate] = []
        self.open: list[_Interval] = []
        self.intervals = 0
        self.infeasible: Infeasible | None = None

    def run(self, time_limit: float | None) -> SearchOutcome:
        try:
            self.enter(self.lattice.bottom, self.lattice.top)
            if time_limit is not None:
                self.control.limit(self.started + time_limit)
            self.exhaust()
        except Stopped:
            self.control.raise_if_cancelled()
            return self.outcome(complete=False)
        finally:
            self.control.limit(None)
        return self.outcome(complete=True)

    def exhaust(self) -> None:
        """Splits intervals, the most promising first, until none can hold a better transformation."""
        while self.open:
            self.report_now_and_then()
            if self.found and self.open[0].bound >= self.found[0].key:
                break
            self.control.raise_if_stopped()
            interval = heapq.heappop(self.open)
            if interval.lo == interval.hi:
                continue
            attribute, level = _widest_gap(interval, self.quality.aggregation.weights)
            try:
                self.enter(interval.lo, _with(interval.hi, attribute, level))
            except Stopped:
                # The bound of what is left must still cover this interval.
                heapq.heappush(self.open, interval)
                raise
            self.add(_with(interval.lo, attribute, level + 1), interval.hi, interval.table)
        for interval in self.open:
            self.prune(interval.lo, interval.hi, BY_LOSS)
        self.open.clear()

    def enter(self, lo: Transformation, hi: Transformation) -> None:
        """Checks hi, and opens the interval unless hi excludes it."""
        classes = self.counter.classes(hi)
        self.checked += 1
        size = self.privacy.minimum_class_size
        below = self.counter.withheld + int(classes.counts[classes.counts < size].sum())
        if below > self.suppressible:
            self.prune(lo, hi, BY_SUPPRESSION)
            if hi == self.lattice.top:
                self.infeasible = self.nearest(hi, classes, below)
            return
        table = self.quality.table(self.counter.small_classes(hi, size))
        self.consider(hi, classes, table, below)
        self.add(lo, hi, table)

    def consider(self, hi: Transformation, classes: EquivalenceClasses, table: Table, below: int) -> None:
        """Keeps hi among the best found if it is valid."""
        kept = self.privacy.releasable(classes)
        suppressed = self.counter.records - int(classes.counts[kept].sum())
        if suppressed > self.suppressible:
            return
        if suppressed == below:
            values = tuple(float(table[j][level]) for j, level in enumerate(hi))
        else:
            values = self.quality.values(hi, classes, kept)
        score = self.quality.score(values)
        key = (score, sum(hi), hi)
        candidate = Candidate(hi, key, self.quality.reported(score), values, suppressed, int(kept.sum()))
        self.found = sorted([*self.found, candidate], key=lambda found: found.key)[: RUNNERS_UP + 1]

    def add(self, lo: Transformation, hi: Transformation, table: Table) -> None:
        """Opens an interval whose hi was checked with the given table."""
        values = [float(table[j][level]) for j, level in enumerate(lo)]
        bound = (self.quality.score(values), sum(lo), lo)
        if self.found and bound >= self.found[0].key:
            self.prune(lo, hi, BY_LOSS)
            return
        self.intervals += 1
        heapq.heappush(self.open, _Interval(bound, self.intervals, lo, hi, table))

    def prune(self, lo: Transformation, hi: Transformation, reason: str) -> None:
        """Counts the transformations of an excluded interval, all but hi, which was checked."""
        if lo != hi:
            self.pruned[reason] += Lattice(lo, hi).size - 1

    def nearest(self, top: Transformation, classes: EquivalenceClasses, below: int) -> Infeasible:
        """What would be feasible at the most general transformation."""
        sizes = np.sort(classes.counts)
        # The k for which sizes below it stay within the limit: the first size whose records exceed it is still kept.
        lost = self.counter.withheld + np.cumsum(sizes)
        over = np.flatnonzero(lost > self.suppressible)
        nearest_k = int(sizes[over[0]]) if len(over) and self.counter.withheld <= self.suppressible else 0
        return Infeasible(top, below, self.suppressible, self.counter.records, nearest_k)

    def bound(self) -> float:
        """No valid transformation scores less than this."""
        keys = [self.open[0].bound] if self.open else []
        keys += [self.found[0].key] if self.found else []
        return self.quality.reported(min(keys)[0]) if keys else math.inf

    def report_now_and_then(self) -> None:
        now = self.control.now()
        if now - self.reported_at >= SECONDS_BETWEEN_REPORTS:
            self.reported_at = now
            self.report_progress()

    def report_progress(self) -> None:
        best = self.found[0] if self.found else None
        self.report(
            Progress(
                self.checked,
                self.lattice.size,
                best.score if best else None,
                self.bound() if best or self.open else None,
                best.suppressed / max(self.counter.records, 1) if best else None,
            )
        )

    def outcome(self, complete: bool) -> SearchOutcome:
        self.report_progress()
        return SearchOutcome(
            best=self.found[0] if self.found else None,
            infeasible=self.infeasible,
            complete=complete,
            lower_bound=self.bound(),
            checked=self.checked,
            lattice_size=self.lattice.size,
            pruned=dict(self.pruned),
            runners_up=tuple(self.found[1:]),
            seconds=self.control.now() - self.started,
        )


def _widest_gap(interval: _Interval, weights: Sequence[float]) -> tuple[int, int]:
    """The attribute and the level after which to split: where T rises most from one level to the next.

    Then the upper part's bound rises most, and the lower part's check tells most.
    """
    widest, where = -math.inf, (0, 0)
    for j, (low, high) in enumerate(zip(interval.lo, interval.hi, strict=True)):
        for level in range(low, high):
            gap = float(interval.table[j][level + 1] - interval.table[j][level]) * weights[j]
            if gap > widest:
                widest, where = gap, (j, level)
    return where


def _with(transformation: Transformation, attribute: int, level: int) -> Transformation:
    return (*transformation[:attribute], level, *transformation[attribute + 1 :])
