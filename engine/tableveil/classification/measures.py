"""How good predictions are: accuracy, Brier score, confusion, and for each class precision, recall, ROC and AUC."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, roc_curve

from tableveil.classification.model import ClassMeasures, Measures

MOST_POINTS = 200
"""The most points of an ROC curve that are shown; the area is computed from all points."""


def measure(classes: NDArray[np.integer[Any]], probabilities: NDArray[np.float64], labels: Sequence[str]) -> Measures:
    """Measures the predictions for records with these classes; there is at least one record.

    The prediction for a record is its most probable class; the first one if several are equally probable.
    """
    predicted = probabilities.argmax(axis=1)
    pairs = np.bincount(classes * np.int64(len(labels)) + predicted, minlength=len(labels) ** 2)
    confusion = pairs.reshape(len(labels), len(labels))
    # The squared probability of each class; for the true class, the square of one minus its probability.
    case = probabilities[np.arange(len(classes)), classes]
    brier = ((probabilities**2).sum(axis=1) - 2 * case + 1).mean()
    return Measures(
        accuracy=int(np.trace(confusion)) / len(classes),
        brier=float(brier),
        confusion=tuple(tuple(map(int, row)) for row in confusion),
        classes=tuple(
            _of_one(label, confusion, code, classes == code, probabilities[:, code])
            for code, label in enumerate(labels)
        ),
    )


def _of_one(
    label: str, confusion: NDArray[np.int64], code: int, of_it: NDArray[np.bool_], probability: NDArray[np.float64]
) -> ClassMeasures:
    right, predicted, there = int(confusion[code, code]), int(confusion[:, code].sum()), int(confusion[code].sum())
    area: float | None = None
    points: tuple[tuple[float, float], ...] = ()
    if 0 < there < len(of_it):
        false_positives, true_positives, _ = roc_curve(of_it, probability)
        area, points = float(auc(false_positives, true_positives)), _thinned(false_positives, true_positives)
    return ClassMeasures(label, _ratio(right, predicted), _ratio(right, there), area, points)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _thinned(
    false_positives: NDArray[np.float64], true_positives: NDArray[np.float64]
) -> tuple[tuple[float, float], ...]:
    """Some of the points, including both ends, spread evenly along the curve."""
    points = np.arange(len(false_positives))
    if len(points) > MOST_POINTS:
        # Both rates ascend from 0 to 1.
        along = np.linspace(0, 2, MOST_POINTS)
        points = np.unique(np.searchsorted(false_positives + true_positives, along).clip(max=len(points) - 1))
    return tuple(zip(false_positives[points].tolist(), true_positives[points].tolist(), strict=True))
