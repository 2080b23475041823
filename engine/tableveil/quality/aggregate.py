"""Aggregates: one value per quasi-identifier becomes one score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.policy import Aggregate

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
