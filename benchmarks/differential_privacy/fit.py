"""Section: whether drawn transformations occur as often as the exponential mechanism has it."""

import random
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from scipy.stats import chi2

from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.differential_privacy import Below, Drops, Gains, draw_transformation, drops, eta
from tableveil.lattice import Lattice, Transformation

LEVELS, ATTRIBUTES, DRAWS = 4, 6, 20_000
"""Four levels of six attributes are 4,096 transformations."""

RECORDS = 20
"""Combinations of values, of 1 to 39 records each."""

LEAST_EXPECTED = 5
"""Transformations that are expected seldomer are counted together, the likeliest first, until they are so many."""

LEAST = 1e-4
"""A smaller probability of the counts says that the draw is wrong."""

_PRECISE = Context(prec=60)


def random_table(seed: int, levels: int, attributes: int, removed: Drops) -> tuple[Gains, Lattice]:
    """Records of random codes; each level unites the two last groups, and values fall with the level at random."""
    numbers = np.random.default_rng(seed)
    groups, values, codes = [], [], []
    for _ in range(attributes):
        groups.append(
            tuple(np.minimum(np.arange(levels), levels - 1 - level).astype(np.int32) for level in range(levels))
        )
        falling = np.sort(numbers.integers(0, (1 << 28) // attributes, levels))[::-1]
        values.append(tuple(np.full(levels, value) for value in falling))
        codes.append(numbers.integers(0, levels, RECORDS).astype(np.int32))
    gains = Gains(groups, values, codes, numbers.integers(1, 40, RECORDS).astype(np.int64), removed)
    return gains, Lattice((0,) * attributes, (levels - 1,) * attributes)


def probabilities(gains: Gains, lattice: Lattice, epsilon: Fraction) -> dict[Transformation, float]:
    """The probability of each transformation x by the definition: e^(epsilon u(x)), normed, to 60 digits.

    By the definition epsilon is divided by the range of the gains; the draw's rate is less than 2^-190 below that.
    """
    gained = {x: gains.check(x).gain for x in lattice}
    most = max(gained.values())
    exponents = {x: epsilon * (gain - most) / gains.range for x, gain in gained.items()}
    weights = {
        x: _PRECISE.exp(_PRECISE.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
        for x, exponent in exponents.items()
    }
    total = sum((Fraction(weight) for weight in weights.values()), Fraction(0))
    return {x: float(Fraction(weight) / total) for x, weight in weights.items()}


def fit(expected: dict[Transformation, float], counts: Counter[Transformation]) -> tuple[float, int]:
    """The probability of counts at least as far from the expected ones (Pearson's chi-square), and the cells."""
    draws = counts.total()
    statistic, cells, share, observed = 0.0, 0, 0.0, 0
    rest = 1.0
    for x, probability in sorted(expected.items(), key=lambda each: -each[1]):
        share, observed, rest = share + probability, observed + counts[x], rest - probability
        if share * draws >= LEAST_EXPECTED and rest * draws >= LEAST_EXPECTED:
            statistic += (observed - share * draws) ** 2 / (share * draws)
            cells, share, observed = cells + 1, 0.0, 0
    statistic += (observed - share * draws) ** 2 / (share * draws)
    return float(chi2.sf(statistic, cells)), cells + 1


def drawn(gains: Gains, lattice: Lattice, rate: Fraction, draws: int, below: Below) -> Counter[Transformation]:
    """How often each transformation was drawn."""
    return Counter(draw_transformation(gains, lattice, rate, below) for _ in range(draws))


def distribution(draws: int = DRAWS) -> Section:
    """The choice among 4,096 transformations, for a small, a middle and a large part of epsilon."""
    rows, sound = [], True
    for seed, epsilon in enumerate((Fraction(1, 1000), Fraction(1, 50), Fraction(1, 5))):
        gains, lattice = random_table(seed, LEVELS, ATTRIBUTES, drops(Fraction(1), Fraction(1, 100)))
        counts = drawn(gains, lattice, eta(epsilon, gains.range), draws, random.Random(seed).randrange)
        probability, cells = fit(probabilities(gains, lattice, epsilon), counts)
        met = probability > LEAST
        sound = sound and met
        rows.append(
            (f"{float(epsilon):g}", f"{len(list(lattice)):,}", f"{cells:,}", f"{probability:.4f}", verdict(met))
        )
    told = (
        f"{draws:,} draws each, by a fixed seed, beside the exact probabilities. A probability of the chi-square below "
        f"{LEAST:g} says that the draw is wrong.",
        table(("search_epsilon", "transformations", "cells", "probability", ""), rows),
    )
    return Section("Distribution of the drawn transformation", told, sound)
