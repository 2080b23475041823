"""Measures against scikit-learn's and against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from tableveil.classification.assess import MOST_POINTS, measure

LABELS = ("a", "b", "c")


@st.composite
def predictions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Classes, not always all of them, and probabilities with ties."""
    records = draw(st.integers(1, 30))
    classes = draw(st.lists(st.integers(0, 2), min_size=records, max_size=records))
    parts = draw(st.lists(st.lists(st.integers(1, 4), min_size=3, max_size=3), min_size=records, max_size=records))
    shares = np.array(parts, np.float64)
    return np.array(classes), shares / shares.sum(axis=1, keepdims=True)


@given(predictions())
def test_measures_are_scikit_learns(predicted: tuple[np.ndarray, np.ndarray]) -> None:  # type: ignore[type-arg]
    classes, probabilities = predicted
    told = probabilities.argmax(axis=1)
    found = measure(classes, probabilities, LABELS)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(classes, told))
    assert found.brier == pytest.approx(np.mean(np.sum((probabilities - np.eye(3)[classes]) ** 2, axis=1)))
    assert np.array(found.confusion).tolist() == metrics.confusion_matrix(classes, told, labels=[0, 1, 2]).tolist()
    precision, recall, _, support = metrics.precision_recall_fscore_support(
        classes, told, labels=[0, 1, 2], zero_division=np.nan
    )
    for code, of_class in enumerate(found.classes):
        assert of_class.label == LABELS[code]
        assert of_class.precision == (None if np.isnan(precision[code]) else pytest.approx(precision[code]))
        assert of_class.recall == (None if not support[code] else pytest.approx(recall[code]))
        if not 0 < support[code] < len(classes):
            assert of_class.auc is None
            assert of_class.roc == ()
            continue
        # The share of pairs of one record of the class and one of another that are ranked correctly.
        own, others = probabilities[classes == code, code], probabilities[classes != code, code]
        above = np.sign(own[:, None] - others[None, :])
        assert of_class.auc == pytest.approx((above.mean() + 1) / 2)
        assert of_class.auc == pytest.approx(metrics.roc_auc_score(classes == code, probabilities[:, code]))
        xs, ys = zip(*of_class.roc, strict=True)
        assert metrics.auc(xs, ys) == pytest.approx(of_class.auc)


def test_a_long_curve_is_thinned_and_keeps_its_shape() -> None:
    generator = np.random.default_rng(5)
    classes = generator.integers(0, 2, 20_000)
    chances = 1 / (1 + np.exp(-generator.normal(classes * 1.5, 1)))
    found = measure(classes, np.stack([1 - chances, chances], axis=1), ("no", "yes")).classes[1]
    assert len(found.roc) <= MOST_POINTS
    assert [found.roc[0], found.roc[-1]] == [(0, 0), (1, 1)]
    assert list(found.roc) == sorted(found.roc)
    xs, ys = zip(*found.roc, strict=True)
    assert metrics.auc(xs, ys) == pytest.approx(found.auc, abs=1e-3)
    assert found.auc == pytest.approx(metrics.roc_auc_score(classes, chances))
