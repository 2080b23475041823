"""The common part of all comparators: looking at one transformation by the definitions, and reporting the findings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses
from tableveil.control import Control, Stopped
from tableveil.lattice import Transformation
from tableveil.search import Candidate, Problem


@dataclass(frozen=True, slots=True)
class Found:
    """The best of the transformations that a comparator checked, None if none was valid.

    `seconds` is the whole time, `best_seconds` that until the best was found. Nothing is proven, except by
    `exhaustive` if it is `complete`: then it was not stopped.
    """

    best: Candidate | None
    checked: int
    seconds: float
    best_seconds: float | None
    complete: bool


@dataclass(frozen=True, slots=True)
class Look:
    """A checked transformation: its classes, a mask of the kept ones, and whether it is valid."""

    classes: EquivalenceClasses
    kept: NDArray[np.bool_]
    valid: bool


class Looking:
    """Checks transformations and keeps the best valid one, without the engine's bounds."""

    def __init__(self, problem: Problem, control: Control) -> None:
        self.problem = problem
        self.best: Candidate | None = None
        self.checked = 0
        self.best_seconds: float | None = None
        self._control = control
        self._started = control.now()

    def check(self, x: Transformation) -> Look:
        """Counts x and scores it if it is valid; raises `Stopped` if it is time to stop."""
        self._control.raise_if_stopped()
        problem, classes = self.problem, self.problem.counter.classes(x)
        self.checked += 1
        kept = problem.privacy.releasable(classes)
        suppressed = problem.counter.records - int(classes.counts[kept].sum())
        look = Look(classes, kept, suppressed <= problem.suppressible)
        if look.valid:
            assessment = problem.quality.assess(x, classes, kept)
            key = (assessment.score, sum(x), x)
            if self.best is None or key < self.best.key:
                score = problem.quality.reported(assessment.score)
                self.best = Candidate(x, key, score, assessment.values, suppressed, int(kept.sum()))
                self.best_seconds = self._control.now() - self._started
        return look

    def above(self, x: Transformation) -> Iterator[Transformation]:
        """The transformations one level above x, by axis."""
        lattice = self.problem.lattice
        for axis in lattice.axes:
            if x[axis[0]] < lattice.top[axis[0]]:
                yield lattice.moved(x, axis, x[axis[0]] + 1)

    def most_distinct(self, x: Transformation) -> int:
        """The number of values of the attribute that has most of them at x."""
        return max(len(levels.leaves[level]) for levels, level in zip(self.problem.counter.levels, x, strict=True))

    def run(self, walk: Callable[[], None], time_limit: float | None) -> Found:
        """Runs `walk`, which calls `check`, within as many seconds, and returns the findings."""
        complete = True
        try:
            if time_limit is not None:
                self._control.limit(self._started + time_limit)
            walk()
        except Stopped:
            self._control.raise_if_cancelled()
            complete = False
        finally:
            self._control.limit(None)
        return Found(self.best, self.checked, self._control.now() - self._started, self.best_seconds, complete)
