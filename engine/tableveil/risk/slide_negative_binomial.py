"""The slide negative binomial model of a population (SNB): unique records estimated by two moments of the sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tableveil.numeric.root import root
from tableveil.risk.prosecutor import ClassSizes

LOGITS = tuple(np.linspace(-25, 25, 201).tolist())
"""Of beta: between two of them a change of sign is looked for."""


@dataclass(frozen=True, slots=True)
class SlideNegativeBinomial:
    """A population of `classes` classes, each of one record and a negative binomial number more: NB(alpha, beta)."""

    classes: float
    alpha: float
    log_beta: float

    @property
    def uniques(self) -> float:
        """Unique records."""
        return self.classes * math.exp(self.alpha * self.log_beta)


def slide_negative_binomial(found: ClassSizes, population: int) -> float | None:
    """Unique records of a population of that size, from a sample that has some; None if no parameters fit."""
    model = fitted(found, population)
    return None if model is None else model.uniques


def fitted(found: ClassSizes, population: int) -> SlideNegativeBinomial | None:
    """The population of that size with which as many classes of one and of two are expected in the sample as are there.

    The sample has unique records. If several alpha and beta would do, those with the most unique records in the
    population are taken; None if there are none such.

    Source: Chen and Keller-McNulty 1998, "Estimation of identification disclosure risk in microdata".
    """
    count: dict[int, int] = dict(zip(found.sizes.tolist(), found.classes.tolist(), strict=True))
    ones, twos = count[1], count.get(2, 0)
    if not twos:
        return None
    fraction = int((found.sizes * found.classes).sum()) / population
    total = population_classes(found, fraction)

    def alpha_for(logit: float) -> float:
        """With which the quotient of twos and ones is as expected: the positive root of a quadratic equation."""
        others = 1 / (1 + math.exp(logit))
        unseen = (1 - fraction) * others
        double = 2 * twos / ones * (1 - unseen)
        square = fraction * others * unseen
        linear = fraction * others * (2 - unseen) - double * unseen
        constant = double * (1 - unseen)
        distance = math.sqrt(linear * linear + 4 * square * constant)
        # Of two ways to write the root, the one that does not subtract what is nearly equal.
        return 2 * constant / (linear + distance) if linear > 0 else (distance - linear) / (2 * square)

    def surplus(logit: float) -> float:
        """The logarithm of expected by found classes of one."""
        alpha, odds = alpha_for(logit), math.exp(-logit)
        unseen = (1 - fraction) / (1 + math.exp(logit))
        seen = math.log1p(alpha * unseen / (1 - unseen)) - alpha * math.log1p(fraction * odds)
        return math.log(total * fraction / ones) + seen

    at = [(logit, surplus(logit)) for logit in LOGITS]
    roots = [root(surplus, low, high) for (low, first), (high, second) in pairwise(at) if (first < 0) != (second < 0)]
    models = [SlideNegativeBinomial(total, alpha_for(x), -math.log1p(math.exp(-x))) for x in roots]
    return max(models, key=lambda model: model.uniques, default=None)


def population_classes(found: ClassSizes, fraction: float) -> float:
    """The number of classes of a population, from a sample of that fraction, below 1, that has unique records.

    Source: Haas and Stokes 1998, "Estimating the number of classes in a finite population", Shlosser's estimator as
    modified there.
    """
    sizes, classes = found.sizes.astype(np.float64), found.classes.astype(np.float64)
    missed = (1 - fraction) ** sizes * classes
    once = sizes * fraction * (1 - fraction) ** (sizes - 1) * classes
    square = fraction * fraction
    once_of_square = sizes * square * (1 - square) ** (sizes - 1) * classes
    # (1 - f)^i ((1 + f)^i - 1), of which the second factor alone could overflow.
    rest = ((1 - square) ** sizes - (1 - fraction) ** sizes) * classes
    if not rest.sum() or not once.sum():
        # A fraction so small that nothing is left of it in floats: the population cannot be told from infinite.
        return math.inf
    factor = once_of_square.sum() / rest.sum() * (missed.sum() / once.sum()) ** 2
    return float(classes.sum() + classes[0] * factor)
