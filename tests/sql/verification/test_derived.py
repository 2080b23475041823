"""Formulas that columns are tried on at once are no stricter than those that decide for one column."""

import numpy as np

from tableveil.verification.derived import TRIED, _exact, _on_lines


def test_what_is_exact_is_on_lines() -> None:
    chance = np.random.default_rng(1)
    exact = passed = 0
    for _ in range(300):
        calculated = chance.integers(0, 300, TRIED) * chance.choice([1.0, 1 / 7, 1e9])
        values = chance.choice([1.0, -2.5, 1e-6]) * calculated + chance.choice([0.0, 2026.0, -1e7])
        wrong = chance.random(TRIED) < chance.choice([0, 0.005, 0.01, 0.03, 1])
        values = np.where(wrong, chance.integers(0, 300, TRIED), values)
        values[chance.random(TRIED) < chance.choice([0, 0.3])] = chance.choice([np.nan, np.inf])
        calculated[chance.random(TRIED) < chance.choice([0, 0.3])] = np.inf
        (on_lines,) = _on_lines(values[None, :], calculated)
        if _exact(values, calculated) is not None:
            assert on_lines
            exact += 1
        passed += bool(on_lines)
    assert 50 < exact <= passed < 250
