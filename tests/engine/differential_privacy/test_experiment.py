"""The promise by experiment: draws with the operating system's randomness, against exact confidence intervals."""

import secrets
from collections import Counter
from fractions import Fraction

import pytest
from scipy.stats import beta

from tableveil.differential_privacy import Drops, drops
from tests.once import once

RUNS = 200_000
CONFIDENCE = 1 - 1e-7
"""Each interval holds its probability so surely: at 99.9 %, one run in a hundred would fail by chance."""
EPSILON, DELTA = Fraction(1), Fraction(1, 10)


def interval(hits: int) -> tuple[float, float]:
    """Clopper and Pearson (1934): it holds the probability with the confidence, whatever that is."""
    outside = (1 - CONFIDENCE) / 2
    low = float(beta.ppf(outside, hits, RUNS - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - outside, hits + 1, RUNS - hits)) if hits < RUNS else 1.0
    return low, high


def left(removed: Drops, size: int) -> Counter[int]:
    return Counter(max(0, size - removed.draw(secrets.randbelow)) for _ in range(RUNS))


def test_draws_have_their_masses_and_nothing_tells_more_than_the_claim() -> None:
    removed = drops(EPSILON, DELTA)
    assert removed.middle <= 2
    few, more = left(removed, 5), left(removed, 6)
    for size, counts in ((5, few), (6, more)):
        for rows in range(size + 1):
            z = size - rows
            mass = removed.masses[z] / removed.total if z < len(removed.masses) else 0.0
            low, high = interval(counts[rows])
            assert low <= mass <= high
    # An adversary looks for rows that only the larger table can have.
    assert interval(more[6])[0] <= DELTA


@pytest.mark.parametrize("defect", once(["a smaller threshold", "no randomness"]))
def test_a_defect_is_seen(defect: str) -> None:
    masses = drops(EPSILON, DELTA).masses
    removed = Drops(masses[1:-1]) if defect == "a smaller threshold" else Drops((1,))
    assert interval(left(removed, 6)[6])[0] > DELTA
