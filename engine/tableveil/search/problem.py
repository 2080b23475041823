"""The problem of a search: the lattice, the counter, the rules of release, and the quality to optimize."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.lattice import Lattice
from tableveil.privacy import ReleaseRule, suppressed_pool
from tableveil.quality import QualityModel


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
