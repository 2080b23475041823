"""The findings of a search so far, in any strategy: checks, the best transformations, refusals, and reports of them."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, RememberingCounter
from tableveil.control import SECONDS_BETWEEN_REPORTS, Control, Progress
from tableveil.lattice import Transformation
from tableveil.privacy import Conjunction
from tableveil.quality import BoundEvidence, Score
from tableveil.search.outcome import Candidate, Key, Problem, SearchOutcome, valid

RUNNERS_UP = 10
MEMORY_FOR_CLASSES = 256 << 20
"""Bytes of classes that are remembered because a bound may need them again."""

WORTH_ASKING = 0.05
"""Privacy models are asked for lost records at every check as long as they know of this share of the suppressible ones.

Asking costs about as much as counting.
"""

IN_VAIN = 5
ASKED_AGAIN = 8
"""After `IN_VAIN` checks with less than `WORTH_ASKING`, they are asked at every `ASKED_AGAIN`-th check only."""


class Findings:
    """Checks transformations for a strategy and keeps the best of them, by key: score, sum of levels, levels."""

    def __init__(self, problem: Problem, control: Control, report: Callable[[Progress], None]) -> None:
        self.problem = problem
        self.checked = 0
        self._counter = RememberingCounter(
            problem.counter, MEMORY_FOR_CLASSES if problem.quality.bounds_by_classes else 0
        )
        self.pruned: Counter[str] = Counter()
        self._found: list[Candidate] = []
        self._control = control
        self._report = report
        self._started = self._reported_at = control.now()
        self._best_seconds: float | None = None
        self._in_vain = 0

    @property
    def started(self) -> float:
        """The begin of the search, on the control's clock."""
        return self._started

    @property
    def best(self) -> Candidate | None:
        """The best valid transformation checked so far."""
        return self._found[0] if self._found else None

    def beaten(self, key: Key) -> bool:
        """Whether a found transformation is at least as good as the key."""
        return bool(self._found) and key >= self._found[0].key

    def check(self, at: Transformation) -> Check:
        """Counts a transformation."""
        check = self.look(at)
        self.checked += 1
        return check

    def ruled_out(self, at: Transformation) -> bool:
        """Whether a part of the classes shows that nothing at or below the transformation is valid: this is a check.

        Nothing is, if too many records are in classes below the minimum size: see `excluded`.
        """
        problem = self.problem
        most = problem.suppressible - problem.counter.withheld
        is_ruled_out = self._counter.too_many_small(at, problem.privacy.minimum_class_size, most)
        self.checked += is_ruled_out
        return is_ruled_out

    def look(self, at: Transformation) -> Check:
        """The classes of a transformation for a bound: this does not count as a check."""
        privacy = self.problem.privacy
        ask = privacy.knows_lost and (self._in_vain < IN_VAIN or self.checked % ASKED_AGAIN == 0)
        return Check(self._counter, at, privacy.minimum_class_size, privacy if ask else None)

    def excluded(self, check: Check) -> bool:
        """Whether nothing at or below the checked transformation is valid.

        Nothing is valid if too many records are lost there and below; if a model vetoes everything, whatever is
        suppressed; or if none may be suppressed and a model refuses a class and would refuse its parts, too.
        """
        problem = self.problem
        # Checks that need only the sizes come first.
        if check.too_small > problem.suppressible or problem.privacy.vetoes(check.classes):
            return True
        if check.losing is not None:
            more = check.below - check.too_small
            self._in_vain = 0 if more > WORTH_ASKING * problem.suppressible else self._in_vain + 1
        if check.below > problem.suppressible:
            return True
        nothing_suppressible = problem.suppressible == problem.counter.withheld
        return nothing_suppressible and problem.privacy.refuses_all_below(check.classes)

    def consider(self, check: Check, evidence: BoundEvidence) -> bool:
        """Keeps a checked transformation if it is valid and among the best; returns whether it is the best so far."""
        # The evidence bounds the score at the transformation itself: often that is enough.
        if len(self._found) > RUNNERS_UP and (evidence.bound(check.at), sum(check.at), check.at) >= self._found[-1].key:
            return False
        candidate = self.candidate(check)
        return candidate is not None and self.keep(candidate)

    def candidate(self, check: Check) -> Candidate | None:
        """The transformation with its score and parts; None if it fails."""
        classes = check.classes
        kept = self._kept(check)
        suppressed = self.problem.counter.records - int(classes.counts[kept].sum())
        if not valid(self.problem, classes, kept):
            return None
        assessment = self.problem.quality.assess(check.at, classes, kept)
        key = (assessment.score, sum(check.at), check.at)
        reported = self.problem.quality.reported(assessment.score)
        return Candidate(check.at, key, reported, assessment.values, suppressed, int(kept.sum()))

    def keep(self, found: Candidate) -> bool:
        """Keeps a candidate if it is among the best; returns whether it is the best so far."""
        if any(other.transformation == found.transformation for other in self._found):
            return False
        best = not self.beaten(found.key)
        self._found = sorted([*self._found, found], key=lambda candidate: candidate.key)[: RUNNERS_UP + 1]
        if best:
            self._best_seconds = self._control.now() - self._started
        return best

    def suppressed(self, check: Check) -> int:
        """Records that the transformation would suppress, withheld ones included."""
        return self.problem.counter.records - int(check.classes.counts[self._kept(check)].sum())

    def _kept(self, check: Check) -> NDArray[np.bool_]:
        return check.among_all(self.problem.privacy.releasable(check.large))

    def prune(self, lo: Transformation, hi: Transformation, reason: str, left: Transformation | None = None) -> None:
        """Counts the transformations of an interval that are excluded: all but hi, which was checked.

        If an interval is `left`, the transformations up to it are not excluded.
        """
        excluded = self.problem.lattice.count(lo, hi) - 1
        if left is not None:
            excluded -= self.problem.lattice.count(lo, left)
        if excluded:
            self.pruned[reason] += excluded

    def report_now_and_then(self, bound: Callable[[], Score | None]) -> None:
        """Reports progress if the last report was a while ago; `bound` gives the proven bound of the open part."""
        now = self._control.now()
        if now - self._reported_at >= SECONDS_BETWEEN_REPORTS:
            self._reported_at = now
            self._report_progress(bound())

    def outcome(self, strategy: str, bound: Score | None, complete: bool) -> SearchOutcome:
        """The outcome of a search that ended; `bound` is proven for all that is still open."""
        self._report_progress(bound)
        return SearchOutcome(
            strategy=strategy,
            best=self.best,
            complete=complete,
            lower_bound=self._lower_bound(bound),
            checked=self.checked,
            counted=self._counter.counted,
            lattice_size=self.problem.lattice.size,
            pruned=dict(self.pruned),
            runners_up=tuple(self._found[1:]),
            seconds=self._control.now() - self._started,
            best_seconds=self._best_seconds,
        )

    def _lower_bound(self, bound: Score | None) -> float:
        """No valid transformation scores less than this."""
        scores = [bound] if bound is not None else []
        scores += [self.best.key[0]] if self.best else []
        return self.problem.quality.reported(min(scores)) if scores else math.inf

    def _report_progress(self, bound: Score | None) -> None:
        best = self.best
        self._report(
            Progress(
                self.checked,
                self.problem.lattice.size,
                best.score if best else None,
                self._lower_bound(bound) if best or bound is not None else None,
                best.suppressed / max(self.problem.counter.records, 1) if best else None,
            )
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """One rule's refusals at the transformation.

    It refuses classes with so many `records`, or `vetoes` the transformation whatever is suppressed.
    """

    records: int
    vetoes: bool


@dataclass(frozen=True, slots=True)
class Infeasible:
    """`suppressed` of all `records` would have to be suppressed, `allowed` may be; `refusals` are per rule."""

    transformation: Transformation
    suppressed: int
    allowed: int
    records: int
    refusals: tuple[Refusal, ...]


def why_infeasible(problem: Problem) -> Infeasible:
    """Counts the most general transformation of the lattice once more.

    Raises:
        Stopped: `control` says so while classes are counted.
    """
    counter, privacy, top = problem.counter, problem.privacy, problem.lattice.top
    rules = privacy.rules if isinstance(privacy, Conjunction) else (privacy,)
    classes = counter.classes(top)
    refusals = (Refusal(int(classes.counts[~rule.releasable(classes)].sum()), rule.vetoes(classes)) for rule in rules)
    return Infeasible(
        transformation=top,
        suppressed=counter.records - int(classes.counts[privacy.releasable(classes)].sum()),
        allowed=problem.suppressible,
        records=counter.records,
        refusals=tuple(refusals),
    )
