"""The interface of every quality model: scores, their aggregates, bounds for the uncounted, and exact sums of bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import Check, EquivalenceClasses
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import weighted_sum
from tableveil.policy import Aggregate

Counts = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]


def log_ratio(part: Counts | float, whole: Counts | float) -> NDArray[np.float64]:
    """log2(whole / part), both above 0."""
    # The quotient itself would have few digits left if it is close to 1.
    logarithms: NDArray[np.float64] = np.log1p((whole - part) / part) / math.log(2)
    return logarithms


def bits(counts: Counts) -> float:
    """Sum over records of log2(all / those with the same value), given how many have each value."""
    counts = counts[counts > 0]
    return weighted_sum(counts, log_ratio(counts, counts.sum()))


def bits_lost(counts: Counts, groups: NDArray[np.int32]) -> float:
    """Sum over records of log2(those in the same group / those with the same value), given the group of each value."""
    occurring = counts > 0
    together = np.bincount(groups, counts)[groups[occurring]]
    return weighted_sum(counts[occurring], log_ratio(counts[occurring], together))


Score = tuple[float, ...]
"""Compared lexicographically, less is better. All aggregates but `RANK` have one element."""


@dataclass(frozen=True, slots=True)
class WeightedAggregate:
    """The aggregate of weighted values: value_j * weight_j, weights finite and >= 0.

    Every aggregate is monotone in each value, also in floating point (sums, products and maxima of non-negative numbers
    are rounded monotonically). So a score of lower bounds is a lower bound of scores. The geometric mean is therefore
    compared by its product, product_j (1 + value_j * weight_j), and only `reported` takes the root. Factors are sorted
    and sums rounded once: equal values on other attributes give an equal score, so that the tie rule decides.
    """

    aggregate: Aggregate
    weights: tuple[float, ...]

    def score(self, values: Sequence[float]) -> Score:
        """The comparable score of one value per quasi-identifier."""
        weighted = [value * weight for value, weight in zip(values, self.weights, strict=True)]
        match self.aggregate:
            case Aggregate.GEOMETRIC_MEAN:
                return (math.prod(sorted(1.0 + value for value in weighted)),)
            case Aggregate.ARITHMETIC_MEAN | Aggregate.SUM:
                return (math.fsum(weighted),)
            case Aggregate.MAXIMUM:
                return (max(weighted),)
            case Aggregate.RANK:
                return tuple(sorted(weighted, reverse=True))

    def summand(self, attribute: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """An attribute's contribution to a score made of sums, or to the logarithm of a score made of products."""
        weighted = values * self.weights[attribute]
        return np.log1p(weighted) if self.aggregate is Aggregate.GEOMETRIC_MEAN else weighted

    def reported(self, score: Score) -> float:
        """The score as users know it: the mean for means, the largest value for `RANK`.

        Geometric mean: product_j (1 + value_j * weight_j)^(1/m) - 1.
        """
        match self.aggregate:
            case Aggregate.GEOMETRIC_MEAN:
                return float(score[0] ** (1.0 / len(self.weights)) - 1.0)
            case Aggregate.ARITHMETIC_MEAN:
                return score[0] / len(self.weights)
            case _:
                return score[0]


Table = tuple[NDArray[np.float64], ...]
"""Per quasi-identifier, one number per level from 0 to the top."""


@dataclass(frozen=True, slots=True)
class AssessedTransformation:
    """The score of a transformation, which is compared, and its parts per quasi-identifier if it has any."""

    score: Score
    values: tuple[float, ...] = ()


class BoundEvidence(Protocol):
    """Evidence from one checked transformation `hi` about all x <= hi."""

    @property
    def guide(self) -> Table:
        """Each level's contribution to the score, to any scale: it decides where to split, and bounds nothing."""
        ...

    def bound(self, lo: Transformation) -> Score:
        """No valid x with lo <= x <= hi has a lower score. Cheap: no classes are counted."""
        ...


class QualityModel(Protocol):
    """Scores transformations, the lower the better, and bounds the scores of whole intervals of the lattice.

    Valid transformations suppress all records in classes below the minimum size, all classes that the privacy models
    reject, and at most the suppressible number of records.
    """

    @property
    def bounds_by_classes(self) -> bool:
        """Whether `bound_between` offers more than `BoundEvidence.bound`; it costs a count."""
        ...

    def assess(
        self, at: Transformation, classes: EquivalenceClasses, kept: NDArray[np.bool_]
    ) -> AssessedTransformation:
        """The score at a transformation if exactly the classes of the mask are kept."""
        ...

    def evidence(self, check: Check) -> BoundEvidence:
        """The evidence from a checked transformation about those below."""
        ...

    def bound_between(self, lo: Check, hi: Transformation) -> Score:
        """No valid x with lo <= x <= hi has a lower score, computed from the classes at both ends.

        The classes at `hi` follow from those at `lo`: see `tableveil.classes.nest`. Only called if `bounds_by_classes`.
        """
        ...

    def reported(self, score: Score) -> float:
        """The score as users know it; monotone in the score."""
        ...


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of the costs of generalized and of suppressed records; at least one of them is 1."""

    generalization: float
    suppression: float

    @classmethod
    def of(cls, factor: float) -> Factors:
        """The weights for a factor from 0 to 1: (1, 2 * factor) up to a half, (2 * (1 - factor), 1) from there."""
        return cls(min(1.0, 2.0 * (1.0 - factor)), min(1.0, 2.0 * factor))

    @property
    def balanced(self) -> bool:
        """Whether both count in full."""
        return self.generalization == self.suppression
