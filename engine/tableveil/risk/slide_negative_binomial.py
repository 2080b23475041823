"""The slide negative binomial model of a population (SNB): unique records estimated by two moments of the sample."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tableveil.numeric.root import root
from tableveil.risk.prosecutor import ClassSizes

LOGITS = tuple(np.linspace(-25, 25, 201).tolist())
"""Logits of beta: the search looks for a change of sign between two of them."""


@dataclass(frozen=True, slots=True)
class SlideNegativeBinomial:
    """A population of `classes` classes, each of one record plus a negative binomial number: NB(alpha, beta)."""

    classes: float
    alpha: float
    log_beta: float

    @property
    def uniques(self) -> float:
        """Unique records."""
        return self.classes * math.exp(self.alpha * self.log_beta)


def slide_negative_binomial(class_sizes: ClassSizes, population: int) -> float | None:
    """Unique records of a population of that size, from a sample that has some; None if no parameters fit."""
    model = fitted(class_sizes, population)
    return None if model is None else model.uniques


def fitted(class_sizes: ClassSizes, population: int) -> SlideNegativeBinomial | None:
    """The population of that size whose expected numbers of classes of one and of two in the sample are those found.

    The sample has unique records. If several alpha and beta fit, those with the most unique records in the population
    are returned; None if none fit.

    Source: Chen and Keller-McNulty 1998, "Estimation of identification disclosure risk in microdata".
    """
    count: dict[int, int] = dict(zip(class_sizes.sizes.tolist(), class_sizes.classes.tolist(), strict=True))
    ones, twos = count[1], count.get(2, 0)
    if not twos:
        return None
    fraction = int((class_sizes.sizes * class_sizes.classes).sum()) / population
    total = population_classes(class_sizes, fraction)

    def alpha_for(logit: float) -> float:
        """The alpha for which the quotient of twos and ones is as expected: the positive root of a quadratic."""
        others = 1 / (1 + math.exp(logit))
        unseen = (1 - fraction) * others
        double = 2 * twos / ones * (1 - unseen)
        square = fraction * others * unseen
        linear = fraction * others * (2 - unseen) - double * unseen
        constant = double * (1 - unseen)
        distance = math.sqrt(linear * linear + 4 * square * constant)
        # There are two ways to write the root; this is the one that does not subtract nearly equal numbers.
        return 2 * constant / (linear + distance) if linear > 0 else (distance - linear) / (2 * square)

    def surplus(logit: float) -> float:
        """The logarithm of expected divided by found classes of one."""
        alpha, odds = alpha_for(logit), math.exp(-logit)
        unseen = (1 - fraction) / (1 + math.exp(logit))
        seen = math.log1p(alpha * unseen / (1 - unseen)) - alpha * math.log1p(fraction * odds)
        return math.log(total * fraction / ones) + seen

    at = [(logit, surplus(logit)) for logit in LOGITS]
    roots = [root(surplus, low, high) for (low, first), (high, second) in pairwise(at) if (first < 0) != (second < 0)]
    models = [SlideNegativeBinomial(total, alpha_for(x), -math.log1p(math.exp(-x))) for x in roots]
    return max(models, key=lambda model: model.uniques, default=None)


def population_classes(class_sizes: ClassSizes, fraction: float) -> float:
    """The number of classes of a population, from a sample with unique records; its `fraction` is below 1.

    Source: Haas and Stokes 1998, "Estimating the number of classes in a finite population", Shlosser's estimator as
    modified there.
    """
    sizes, classes = class_sizes.sizes.astype(np.float64), class_sizes.classes.astype(np.float64)
    missed = (1 - fraction) ** sizes * classes
    once = sizes * fraction * (1 - fraction) ** (sizes - 1) * classes
    square = fraction * fraction
    once_of_square = sizes * square * (1 - square) ** (sizes - 1) * classes
    # (1 - f)^i ((1 + f)^i - 1); its second factor alone could overflow.
    rest = ((1 - square) ** sizes - (1 - fraction) ** sizes) * classes
    if not rest.sum() or not once.sum():
        # The fraction is so small that floats lose it: the population cannot be distinguished from an infinite one.
        return math.inf
    factor = once_of_square.sum() / rest.sum() * (missed.sum() / once.sum()) ** 2
    return float(classes.sum() + classes[0] * factor)
