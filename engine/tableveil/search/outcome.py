"""The problem of a search and its outcome: candidates, the best of them, and its proof."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.lattice import Lattice, Transformation
from tableveil.privacy import ReleaseRule, suppressed_pool
from tableveil.quality import QualityModel, Score

Key = tuple[Score, int, Transformation]
"""Score, sum of levels, transformation: the whole order of preference, so that ties have one winner."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A valid transformation that was checked.

    `score` is the score that users see, `values` are its parts per quasi-identifier if the quality model has them,
    `suppressed` also counts withheld records.
    """

    transformation: Transformation
    key: Key
    score: float
    values: tuple[float, ...]
    suppressed: int
    classes: int


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The best transformation found, and the proof about the others.

    `pruned` counts transformations excluded without being checked, by reason; with `checked` they make up
    `lattice_size` if the search is `complete`. No valid transformation scores less than `lower_bound`. `runners_up` are
    the best others that were checked, best first. `strategy` names the strategy and the reason for it, and
    `best_seconds` is the time when the best was found, in seconds from the start. `counted` is the number of times
    classes were counted: for the checks, and for bounds of quality models that need more.
    """

    strategy: str
    best: Candidate | None
    complete: bool
    lower_bound: float
    checked: int
    counted: int
    lattice_size: int
    pruned: Mapping[str, int]
    runners_up: tuple[Candidate, ...]
    seconds: float
    best_seconds: float | None

    @property
    def gap(self) -> float:
        """How much better than the best found the score of an unseen transformation could be."""
        return 0.0 if self.complete or self.best is None else max(0.0, self.best.score - self.lower_bound)


@dataclass(frozen=True, slots=True)
class Problem:
    """Find the valid transformation of the lattice with the least score.

    Valid means that `privacy` does not veto it; that at most `suppressible` records, withheld ones included, are in
    classes that it does not release; and, if `keeps_suppressed`, that it would release these records as one class, or
    there are none.
    """

    lattice: Lattice
    counter: ClassCounter
    privacy: ReleaseRule
    quality: QualityModel
    suppressible: int
    keeps_suppressed: bool = False


def valid(problem: Problem, classes: EquivalenceClasses, kept: NDArray[np.bool_]) -> bool:
    """Whether a transformation is valid, given its classes and a mask of those that privacy releases."""
    suppressed = problem.counter.records - int(classes.counts[kept].sum())
    if suppressed > problem.suppressible or problem.privacy.vetoes(classes):
        return False
    return not problem.keeps_suppressed or may_be_kept(problem.privacy, problem.counter, classes, kept)


def may_be_kept(
    privacy: ReleaseRule, counter: ClassCounter, classes: EquivalenceClasses, kept: NDArray[np.bool_]
) -> bool:
    """Whether the suppressed records may be released without labels: there are none, or they hold as one class."""
    if counter.records == int(classes.counts[kept].sum()):
        return True
    return bool(privacy.releasable(suppressed_pool(counter, classes, kept)).all())
