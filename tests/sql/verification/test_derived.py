"""Formulas that columns are tried on at once are those of single columns, by plain loops."""

from statistics import median

import numpy as np

from tableveil.verification.derived import SURE, _exact

TRIED = 400


def test_what_is_exact_is_so_by_the_definition() -> None:
    chance = np.random.default_rng(1)
    exact = 0
    for _ in range(100):
        calculated = chance.integers(0, 300, TRIED) * chance.choice([1.0, 1 / 7, 1e9])
        values = chance.choice([1.0, -2.5, 1e-6]) * calculated + chance.choice([0.0, 2026.0, -1e7])
        wrong = chance.random(TRIED) < chance.choice([0, 0.005, 0.01, 0.03, 1])
        values = np.where(wrong, chance.integers(0, 300, TRIED), values)
        values[chance.random(TRIED) < chance.choice([0, 0.3])] = chance.choice([np.nan, np.inf])
        calculated[chance.random(TRIED) < chance.choice([0, 0.3])] = np.inf
        of_others, right = _exact(np.stack([chance.random(TRIED), values]), calculated)
        assert not of_others.any()
        there = [(y, x) for y, x in zip(values.tolist(), calculated.tolist(), strict=True) if np.isfinite([y, x]).all()]
        pairs = list(zip(there[1:], there, strict=False))
        factor = median([(y[0] - z[0]) / (y[1] - z[1]) for y, z in pairs if y[1] != z[1]])
        constant = median([y - factor * x for y, x in there])
        largest = max(abs(y) for y, _ in there)
        met = sum(abs(y - factor * x - constant) <= 1e-9 * largest for y, x in there)
        alike = sum(y[0] == z[0] for y, z in pairs) / len(pairs)
        assert bool(right.any()) == (met >= 0.99 * len(there) and alike <= SURE)
        assert right.sum() in (0, met)
        exact += bool(right.any())
    assert 20 < exact < 90
