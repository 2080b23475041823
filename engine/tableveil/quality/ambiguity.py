"""Ambiguity: how many combinations of values a released record could stand for.

Why the bound holds: a suppressed record costs the product of all domains, more than any kept one, and leaves grow
with the level. The sum of products over the kept records is at least their number times the geometric mean, which is
one sum of logarithms per quasi-identifier and level.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, ClassCounter, EquivalenceClasses, Marginals
from tableveil.hierarchy.labelling import UncountableError, log_leaves, require_discrete
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import SLACK, rounded
from tableveil.policy import AmbiguityModel
from tableveil.quality.model import AssessedTransformation, Score, Table
from tableveil.quality.separable import RecordCosts


class Ambiguity:
    """Sum over all records of product_j (kept ? leaves_j : |H_j|); suppressed and withheld ones could stand for any.

    Source: Goldberger and Tassa 2010, section 3; with suppression as in ARX.
    """

    # The classes at lo would exclude few more intervals and cost a count each (on adult 3 % fewer checks and 40 %
    # more counts).
    bounds_by_classes = False

    def __init__(self, model: AmbiguityModel, counter: ClassCounter) -> None:
        """Raises `UncountableError` if a domain is continuous, or there are too many combinations."""
        require_discrete(counter.levels)
        self._monotone = model.monotone
        self._levels = counter.levels
        self._records = counter.records
        self._withheld = counter.withheld
        self._all = math.prod(attribute.domain_size for attribute in counter.levels)
        if math.isinf(self._all * max(self._records, 1)):
            raise UncountableError(None)
        marginals = counter.marginals()
        self._nobody = Marginals(marginals.at, tuple(np.zeros_like(counts) for counts in marginals.counts))
        self._logarithms = RecordCosts(counter.levels, marginals, log_leaves)

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The sum if exactly the classes of the mask are kept."""
        kept = np.ones_like(kept) if self._monotone else kept
        combinations = classes.counts[kept].astype(np.float64)
        suppressed = self._records - int(combinations.sum())
        for j, level in enumerate(at):
            combinations *= self._levels[j].leaves[level][classes.groups(j)[kept]]
        return AssessedTransformation((rounded(float(combinations.sum()) + suppressed * self._all),))

    def evidence(self, check: Check) -> _Evidence:
        """Bounds by the geometric mean of the numbers of combinations of the other records."""
        suppressed, below = (self._nobody, self._withheld) if self._monotone else (check.marginals, check.below)
        others = self._records - below
        means = tuple(column / max(others, 1) for column in self._logarithms.of_others_at_least(suppressed))
        return _Evidence(means, others, below * self._all)

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """Offers no bound."""
        raise NotImplementedError

    def reported(self, score: Score) -> float:
        """The sum."""
        return score[0]


class _Evidence:
    """A mean of products is at least 2^(sum of mean logarithms), by the inequality of the two means."""

    def __init__(self, means: Table, others: int, suppressed: float) -> None:
        self.guide = means
        self._rows = [column.tolist() for column in means]
        self._others = others
        self._suppressed = suppressed

    def bound(self, lo: Transformation) -> Score:
        mean = 2.0 ** math.fsum(row[level] for row, level in zip(self._rows, lo, strict=True))
        return ((self._others * mean + self._suppressed) * (1.0 - SLACK),)
