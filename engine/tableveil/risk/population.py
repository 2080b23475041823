"""How many records of the population are unique, estimated from the class sizes of a sample."""

import numpy as np

from tableveil.policy import UniquenessEstimator
from tableveil.risk.pitman import pitman
from tableveil.risk.prosecutor import ClassSizes
from tableveil.risk.slide_negative_binomial import slide_negative_binomial

NEGLIGIBLE = 80
"""A class is left out if its probability of having one record in the sample is below exp(-80)."""


def population_uniqueness(class_sizes: ClassSizes, population: int, estimator: UniquenessEstimator) -> float | None:
    """The estimated share of a population that is unique, from 0 to 1; `class_sizes` are the classes of a sample of it.

    None: the estimator has no estimate for such a sample; this does not mean 0. A sample without unique records has
    none in the population. A sample as large as the population is the population, and its unique records are counted.
    """
    records = int((class_sizes.sizes * class_sizes.classes).sum())
    unique = int(class_sizes.classes[0]) if len(class_sizes.sizes) and class_sizes.sizes[0] == 1 else 0
    if not unique:
        return 0.0
    if records >= population:
        return unique / records
    uniques = _estimated(class_sizes, records, population, estimator)
    return uniques / population if uniques is not None and uniques <= population else None


def _estimated(class_sizes: ClassSizes, records: int, population: int, estimator: UniquenessEstimator) -> float | None:
    match estimator:
        case UniquenessEstimator.PITMAN:
            return pitman(class_sizes, population)
        case UniquenessEstimator.ZAYATZ:
            return zayatz(class_sizes, population)
        case UniquenessEstimator.SNB:
            return slide_negative_binomial(class_sizes, population)
        case UniquenessEstimator.DANKAR:
            return dankar(class_sizes, records, population)


def dankar(class_sizes: ClassSizes, records: int, population: int) -> float | None:
    """The decision rule: Pitman's up to a sampling fraction of a tenth, else the lesser of Zayatz's and SNB.

    Source: Dankar et al. 2012, "Estimating the re-identification risk of clinical data sets".
    """
    if 10 * records <= population:
        return pitman(class_sizes, population)
    by_zayatz, by_snb = zayatz(class_sizes, population), slide_negative_binomial(class_sizes, population)
    return by_zayatz if by_snb is None else min(by_zayatz, by_snb)


def zayatz(class_sizes: ClassSizes, population: int) -> float:
    """Unique records of a population, from a sample that has some: those that are most likely unique in their class.

    Class sizes in the population are assumed to be distributed as in the sample. A class of i records then has one in
    the sample with a hypergeometric probability. Source: Zayatz 1991.
    """
    records = int((class_sizes.sizes * class_sizes.classes).sum())
    others = population - records
    # For a class of i: one of its records is drawn, and in i - 1 further draws none of the others is.
    longest = min(int(class_sizes.sizes[-1]), 2 + int(NEGLIGIBLE * population / records))
    left = np.arange(longest - 1, dtype=np.float64)
    with np.errstate(divide="ignore"):
        missed = np.log(np.maximum(others - left, 0)) - np.log(population - 1 - left)
    likelihood = np.exp(np.concatenate(([0.0], np.cumsum(missed))))
    counted = class_sizes.sizes <= longest
    sizes, classes = class_sizes.sizes[counted], class_sizes.classes[counted]
    ones = float((classes * sizes * likelihood[sizes - 1]).sum())
    unique = int(classes[0])
    return unique * (unique / ones) * population / records
