"""Estimates of population uniqueness: by their definitions, by the reference's, and for samples that are hard."""

import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.numeric.root import root
from tableveil.policy import UniquenessEstimator
from tableveil.risk import ClassSizes, population_uniqueness, slide_negative_binomial

DANKAR, PITMAN, ZAYATZ, SNB = UniquenessEstimator

SIZES = st.lists(st.integers(1, 30) | st.just(1), max_size=40)


def sample(*counts: int) -> ClassSizes:
    return ClassSizes.of(np.array(counts, np.int64))


# --- the reference --------------------------------------------------------------------------------------------------

# Case g-adult-risk-f0.1: classes of adult by age, sex, race, marital-status and native-country.
# fmt: off
ADULT = [
    1, 2080, 2, 437, 3, 190, 4, 97, 5, 71, 6, 51, 7, 45, 8, 25, 9, 24, 10, 22, 11, 27, 12, 21, 13, 18, 14, 18, 15,
    11, 16, 9, 17, 10, 18, 14, 19, 6, 20, 8, 21, 7, 22, 9, 23, 10, 24, 8, 25, 6, 26, 7, 27, 3, 28, 5, 29, 4, 30, 3,
    31, 7, 32, 4, 33, 5, 34, 5, 35, 3, 36, 1, 37, 4, 38, 2, 39, 3, 40, 1, 41, 2, 42, 3, 43, 7, 44, 3, 45, 3, 46, 2,
    47, 1, 48, 2, 49, 1, 50, 1, 51, 5, 52, 2, 53, 3, 54, 1, 55, 3, 56, 1, 57, 2, 58, 3, 59, 2, 60, 2, 62, 1, 63, 2,
    64, 1, 65, 1, 66, 1, 68, 2, 69, 1, 71, 1, 72, 2, 73, 1, 74, 1, 75, 1, 76, 2, 78, 1, 79, 1, 80, 1, 84, 2, 85, 1,
    88, 1, 91, 1, 95, 1, 96, 1, 97, 1, 101, 1, 107, 2, 108, 1, 117, 1, 130, 1, 131, 1, 132, 1, 133, 1, 137, 2, 141,
    1, 145, 1, 150, 1, 152, 1, 155, 1, 158, 1, 160, 2, 161, 1, 167, 1, 171, 1, 176, 1, 185, 1, 189, 3, 193, 1, 195,
    1, 209, 1, 211, 1, 215, 1, 217, 2, 219, 1, 225, 1, 226, 1, 237, 1, 239, 2, 240, 1, 241, 1, 246, 1, 247, 1, 256,
    1, 258, 1, 268, 1, 269, 1, 275, 1, 288, 1, 293, 1, 305, 1, 307, 1, 309, 1, 312, 1, 315, 1, 318, 1, 319, 1, 324,
    1, 328, 1, 331, 1, 332, 1, 337, 1, 338, 2, 349, 1, 359, 1, 375, 1,
]
# fmt: on


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [(PITMAN, 0.026717455584124597), (ZAYATZ, 0.02790473169526131), (DANKAR, 0.026717455584124597)],
)
def test_the_reference_estimates_the_same(estimator: UniquenessEstimator, expected: float) -> None:
    found = ClassSizes(np.array(ADULT[::2], np.int64), np.array(ADULT[1::2], np.int64))
    assert population_uniqueness(found, 301_620, estimator) == pytest.approx(expected, rel=1e-9)


# --- definitions ----------------------------------------------------------------------------------------------------


@given(SIZES, st.integers(0, 200))
def test_zayatz(counts: list[int], others: int) -> None:
    """The share of sample uniques, by Bayes's rule, whose class has one record in the population."""
    counts.append(1)
    records, population = sum(counts), sum(counts) + others

    def one_in_sample(size: int) -> Fraction:
        return Fraction(size * comb(population - size, records - 1), comb(population, records))

    ones = sum(count == 1 for count in counts)
    unique = ones * one_in_sample(1) / sum(one_in_sample(count) for count in counts)
    expected = float(ones * unique / records)
    assert population_uniqueness(sample(*counts), population, ZAYATZ) == pytest.approx(expected, rel=1e-12)


def likelihood(counts: NDArray[np.int64], theta: float, alpha: float) -> float:
    """The logarithm of Pitman's sampling formula, without what does not depend on theta and alpha."""
    classes, records = len(counts), int(counts.sum())
    joined = sum(math.log(j - alpha) for count in counts.tolist() for j in range(1, count))
    new = np.log(theta + alpha * np.arange(1, classes)).sum()
    return joined + float(new) - float(np.log(theta + np.arange(1, records)).sum())


@pytest.mark.parametrize(
    "counts",
    [
        [1] * 20 + [2] * 8 + [3] * 4 + [5, 9, 14],
        [1] * 5 + [40, 60],
        [1] * 40 + [2] * 15 + [3] * 5,
        # Ewens's model is the most likely: alpha tends to 0.
        [1, 2, 3, 4, 5, 6, 7, 8],
    ],
)
def test_pitman_is_most_likely(counts: list[int]) -> None:
    """Nothing around the parameters that give the estimate is more likely; they are looked for on a grid."""
    population, array = 10 * sum(counts), np.array(counts)
    best, width = (0.5, math.log(10.0)), (0.5, 10.0)
    for _ in range(60):
        around = [
            (alpha, log)
            for alpha in np.linspace(best[0] - width[0], best[0] + width[0], 7)
            for log in np.linspace(best[1] - width[1], best[1] + width[1], 7)
            if 1e-6 <= alpha < 1
        ]
        best = max(around, key=lambda point: likelihood(array, math.exp(point[1]) - point[0], point[0]))
        width = (width[0] * 0.7, width[1] * 0.7)
    alpha, theta = best[0], math.exp(best[1]) - best[0]
    expected = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha)) * population**alpha / population
    assert population_uniqueness(sample(*counts), population, PITMAN) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("alpha", "beta", "fraction"), [(0.5, 0.2, 0.3), (2.0, 0.5, 0.15), (0.1, 0.05, 0.6)])
def test_slide_negative_binomial(alpha: float, beta: float, fraction: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's own expected sample, of classes whose number is known, gives the model's unique records."""
    total = 10**9
    sizes = np.arange(1, 1000)
    factorial = np.concatenate(([0.0], np.cumsum(np.log(sizes))))
    more = np.cumprod((alpha + sizes - 1) / sizes * (1 - beta))
    classes = total * beta**alpha * np.concatenate(([1.0], more[:-1]))
    seen = []
    for found in range(1, 200):
        of = sizes[found - 1 :]
        ways = factorial[of] - factorial[found] - factorial[of - found]
        drawn = np.exp(ways + found * math.log(fraction) + (of - found) * math.log(1 - fraction))
        seen.append(round(float((drawn * classes[found - 1 :]).sum())))
    counts = np.array(seen, np.int64)
    population = round(int((np.arange(1, 200) * counts).sum()) / fraction)
    monkeypatch.setattr(slide_negative_binomial, "population_classes", lambda found, fraction: float(total))
    estimated = population_uniqueness(ClassSizes(np.arange(1, 200), counts), population, SNB)
    assert estimated == pytest.approx(total * beta**alpha / population, rel=1e-4)


def shlosser(counts: Sequence[int], fraction: float) -> float:
    """Haas and Stokes's modification, class by class."""
    ones = sum(count == 1 for count in counts)
    square = fraction**2
    first = sum(i * square * (1 - square) ** (i - 1) for i in counts)
    first /= sum((1 - fraction) ** i * ((1 + fraction) ** i - 1) for i in counts)
    second = sum((1 - fraction) ** i for i in counts) / sum(i * fraction * (1 - fraction) ** (i - 1) for i in counts)
    return len(counts) + ones * first * second**2


@given(SIZES, st.floats(0.01, 0.99))
def test_number_of_classes_in_the_population(counts: list[int], fraction: float) -> None:
    counts.append(1)
    found = slide_negative_binomial.population_classes(sample(*counts), fraction)
    assert found == pytest.approx(shlosser(counts, fraction), rel=1e-9)


@given(SIZES, st.integers(1, 20))
def test_dankar_chooses_by_the_sampling_fraction(counts: list[int], times: int) -> None:
    found, population = sample(1, *counts), times * (1 + sum(counts))
    by = {estimator: population_uniqueness(found, population, estimator) for estimator in UniquenessEstimator}
    if times >= 10:
        assert by[DANKAR] == by[PITMAN]
    else:
        assert by[DANKAR] == min(share for share in (by[ZAYATZ], by[SNB]) if share is not None)


# --- samples that are hard ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", UniquenessEstimator)
@given(counts=SIZES, population=st.integers(1, 10**10))
def test_a_share_or_nothing(estimator: UniquenessEstimator, counts: list[int], population: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        share = population_uniqueness(sample(*counts), population, estimator)
    if 1 not in counts:
        assert share == 0
    elif sum(counts) >= population:
        assert share == counts.count(1) / sum(counts)
    else:
        assert share is None or 0 < share <= 1


@pytest.mark.parametrize(
    ("counts", "pitman", "zayatz", "snb"),
    [
        ([], 0.0, 0.0, 0.0),
        ([7], 0.0, 0.0, 0.0),
        # Nothing speaks for a class of more than one.
        ([1], None, 1.0, None),
        ([1, 1, 1], None, 1.0, None),
    ],
)
def test_degenerate_samples(counts: list[int], pitman: float | None, zayatz: float | None, snb: float | None) -> None:
    found = sample(*counts)
    assert population_uniqueness(found, 1000, PITMAN) == pitman
    assert population_uniqueness(found, 1000, ZAYATZ) == zayatz
    assert population_uniqueness(found, 1000, SNB) == snb
    assert population_uniqueness(found, 1000, DANKAR) == pitman


def test_large_samples() -> None:
    found = ClassSizes(np.array([1, 2, 10**8]), np.array([10**6, 10**5, 1]))
    for estimator in UniquenessEstimator:
        share = population_uniqueness(found, 10**10, estimator)
        assert share is not None
        assert 0 < share < 1


def test_estimates_can_rise_when_classes_are_joined_or_suppressed() -> None:
    """So nothing is concluded from them for other transformations; found by brute force."""
    one_by_one, joined = sample(1, 1, 1, 1, 1, 1, 2, 3, 3, 8), sample(1, 1, 1, 1, 1, 1, 3, 3, 10)
    assert population_uniqueness(one_by_one, 10_000, PITMAN) < population_uniqueness(joined, 10_000, PITMAN)  # type: ignore[operator]
    all_of_them, fewer = sample(1, 1, 2, 2, 3), sample(1, 2, 2, 3)
    assert population_uniqueness(all_of_them, 50, DANKAR) < population_uniqueness(fewer, 50, DANKAR)  # type: ignore[operator]


@given(st.floats(-50, 50), st.floats(0.1, 3))
def test_root(where: float, power: float) -> None:
    found = root(lambda x: math.copysign(abs(x - where) ** power, x - where), -51, 60)
    assert found == pytest.approx(where, abs=1e-9)
