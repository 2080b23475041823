"""How good predictions are: accuracy, Brier score, confusion, and of each class precision, recall, ROC and AUC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, roc_curve

from tableveil.classification.model import ClassMeasures, Measures

MOST_POINTS = 200
"""Of an ROC curve; the area is that under all of it."""


def measure(classes: NDArray[np.integer[Any]], probabilities: NDArray[np.float64], labels: Sequence[str]) -> Measures:
    """What was predicted of records that are of these classes, at least one record.

    A record is told to be of its most probable class, the first one of several.
    """
    told = probabilities.argmax(axis=1)
    pairs = np.bincount(classes * np.int64(len(labels)) + told, minlength=len(labels) ** 2)
    confusion = pairs.reshape(len(labels), len(labels))
    # The square of what a class was given, but of one less for the class that is the case.
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
    label: str,
    confusion: NDArray[np.int64],
    code: int,
    of_it: NDArray[np.bool_],
    probability: NDArray[np.float64],
) -> ClassMeasures:
    right, told, there = int(confusion[code, code]), int(confusion[:, code].sum()), int(confusion[code].sum())
    area: float | None = None
    points: tuple[tuple[float, float], ...] = ()
    if 0 < there < len(of_it):
        false_positives, true_positives, _ = roc_curve(of_it, probability)
        area, points = float(auc(false_positives, true_positives)), _thinned(false_positives, true_positives)
    return ClassMeasures(label, _ratio(right, told), _ratio(right, there), area, points)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _thinned(
    false_positives: NDArray[np.float64], true_positives: NDArray[np.float64]
) -> tuple[tuple[float, float], ...]:
    """Some of the points, both ends among them, as evenly along the curve as they lie."""
    points = np.arange(len(false_positives))
    if len(points) > MOST_POINTS:
        # Both rates ascend from 0 to 1.
        along = np.linspace(0, 2, MOST_POINTS)
        points = np.unique(np.searchsorted(false_positives + true_positives, along).clip(max=len(points) - 1))
    return tuple(zip(false_positives[points].tolist(), true_positives[points].tolist(), strict=True))
