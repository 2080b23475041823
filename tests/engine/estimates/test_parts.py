"""The tempered rule and the regression, beside brute force."""

import numpy as np

from tableveil.estimates.line import tempered
from tableveil.estimates.regression import Levels, Scores, fit


def test_coarse_labels_fill_by_a_root_of_what_finer_ones_left() -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        cells, labels = int(generator.integers(1, 7)), int(generator.integers(1, 9))
        cover = (generator.random((labels, cells)) < 0.5).astype(float)
        cover[~cover.any(1), 0] = 1
        counts = generator.integers(0, 50, labels).astype(float)
        found = tempered(cover, np.ones(cells), counts, np.zeros(cells), 0.25)
        there = [0.0] * cells
        for size in range(1, cells + 1):
            added = [0.0] * cells
            for label in range(labels):
                inside = [cell for cell in range(cells) if cover[label, cell]]
                if len(inside) != size:
                    continue
                total = sum((there[cell] + 0.5) ** 0.25 for cell in inside)
                for cell in inside:
                    share = (there[cell] + 0.5) ** 0.25 / total
                    assert np.isclose(found[label, cell], share)
                    added[cell] += counts[label] * share
            there = [old + new for old, new in zip(there, added, strict=True)]


def test_a_fit_finds_the_effects_behind_intervals() -> None:
    generator = np.random.default_rng(2)
    rows = 20_000
    group, score = generator.integers(0, 3, rows), generator.normal(size=rows)
    truth = np.array([0.0, 0.5, -0.5])[group] + 0.6 * score + generator.normal(0, 0.5, rows)
    bounds = np.array([-np.inf, -1, 0, 0.5, 1.5, np.inf])
    at = np.searchsorted(bounds, truth, side="right") - 1
    predictors = (Levels(group, 3), Scores(score, np.zeros(rows, np.bool_)))
    effects = fit(predictors, bounds[at], bounds[at + 1])
    means = effects.means((Levels(np.arange(3), 3), Scores(np.zeros(3), np.zeros(3, np.bool_))), 3)
    assert np.allclose(means - means[0], [0, 0.5, -0.5], atol=0.06)
    assert abs(effects.spread - 0.5) < 0.05
