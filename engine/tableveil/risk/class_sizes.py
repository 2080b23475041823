"""Estimated class sizes of a population, and its unique records by all estimators."""

import math
from dataclasses import dataclass

from tableveil.policy import UniquenessEstimator
from tableveil.risk.pitman import expected_uniques, pitman_parameters
from tableveil.risk.population import population_uniqueness
from tableveil.risk.prosecutor import ClassSizes
from tableveil.risk.slide_negative_binomial import fitted

PITMAN, ZAYATZ, SNB = UniquenessEstimator.PITMAN, UniquenessEstimator.ZAYATZ, UniquenessEstimator.SNB

LARGEST_CLASS = 10
"""Classes of the population are estimated for sizes up to this one."""


@dataclass(frozen=True, slots=True)
class ClassSizeEstimate:
    """The classes of a population as a model expects them.

    Attributes:
        classes: The number of all classes.
        of_size: The numbers of classes of 1, 2, … `LARGEST_CLASS` people; `of_size[0]` are the unique people.
    """

    classes: float
    of_size: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PopulationEstimates:
    """Estimates about a population from its sample, by every estimator.

    None means that there is no estimate for such a sample.

    Attributes:
        population: The number of people in the population.
        uniqueness: Per estimator the share of the population that is unique.
        rule: The estimator by Dankar's decision rule, or that of Zayatz where Pitman has no estimate.
        sizes: The classes of the population by each model that describes a whole population, `PITMAN` and `SNB`; empty
            for a sample that has no unique records, or is the population.
    """

    population: int
    uniqueness: dict[UniquenessEstimator, float | None]
    rule: UniquenessEstimator
    sizes: dict[UniquenessEstimator, ClassSizeEstimate | None]


def population_estimates(class_sizes: ClassSizes, population: int) -> PopulationEstimates:
    """All estimates from the classes of a sample; `population` is at least the sample's size."""
    uniqueness = {
        estimator: population_uniqueness(class_sizes, population, estimator) for estimator in UniquenessEstimator
    }
    rule = _rule(class_sizes, population, uniqueness)
    sizes = {model: _sizes(class_sizes, population, model, uniqueness[model]) for model in (PITMAN, SNB)}
    return PopulationEstimates(population, uniqueness, rule, sizes)


def _rule(
    class_sizes: ClassSizes, population: int, uniqueness: dict[UniquenessEstimator, float | None]
) -> UniquenessEstimator:
    records = int((class_sizes.sizes * class_sizes.classes).sum())
    if 10 * records <= population:
        return ZAYATZ if uniqueness[PITMAN] is None else PITMAN
    by_zayatz, by_snb = uniqueness[ZAYATZ], uniqueness[SNB]
    return SNB if by_zayatz is None or (by_snb is not None and by_snb < by_zayatz) else ZAYATZ


def _sizes(
    class_sizes: ClassSizes, population: int, model: UniquenessEstimator, uniqueness: float | None
) -> ClassSizeEstimate | None:
    """The classes by a model; None where it has no estimate, also for a sample without unique records."""
    records = int((class_sizes.sizes * class_sizes.classes).sum())
    if uniqueness is None or uniqueness == 0 or records >= population:
        return None
    return _by_pitman(class_sizes, population) if model is PITMAN else _by_snb(class_sizes, population)


def _by_pitman(class_sizes: ClassSizes, population: int) -> ClassSizeEstimate | None:
    """As the population grows, classes of i per unique record are (1 - alpha) (2 - alpha) … (i - 1 - alpha) / i!."""
    parameters = pitman_parameters(class_sizes)
    if parameters is None:
        return None
    theta, alpha = parameters
    uniques = expected_uniques(theta, alpha, population)
    of_size = [uniques]
    for size in range(2, LARGEST_CLASS + 1):
        of_size.append(of_size[-1] * (size - 1 - alpha) / size)
    return ClassSizeEstimate((uniques - theta) / alpha, tuple(of_size))


def _by_snb(class_sizes: ClassSizes, population: int) -> ClassSizeEstimate | None:
    """A class has one record plus a negative binomial number of others."""
    model = fitted(class_sizes, population)
    if model is None:
        return None
    of_size = [model.uniques]
    for size in range(2, LARGEST_CLASS + 1):
        others = size - 1
        of_size.append(of_size[-1] * (model.alpha + others - 1) / others * -math.expm1(model.log_beta))
    return ClassSizeEstimate(model.classes, tuple(of_size))
