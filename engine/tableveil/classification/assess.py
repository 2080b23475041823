"""Trains classifiers on the input and on the release, and evaluates both on the same held-out records.

Interwoven k-fold cross-validation (Prasser, Eicher, Bild, Spengler, Kuhn: A Tool for Optimizing De-Identified Health
Data for Use in Statistical Classification, CBMS 2017).
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, roc_curve

from tableveil.classification.cross_validation import Folds, Version, assign_folds, predicted
from tableveil.classification.model import (
    Assessment,
    ChooseInside,
    ClassifiedRecords,
    ClassifierComparison,
    ClassMeasures,
    Measures,
)
from tableveil.control import Control
from tableveil.requests.classification import ClassificationRequest, Classifier

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


def assess(
    records: ClassifiedRecords,
    request: ClassificationRequest,
    control: Control,
    on_progress: Callable[[int, int], None] = lambda trained, of: None,
    choose: ChooseInside | None = None,
) -> Assessment:
    """Measures how well each classifier predicts the class of the records in a fold after training on the other folds.

    Original: trained on the input, evaluated on the input. Anonymized: trained on the released records, as they are
    released; evaluated on all records of the fold, generalized in the same way but never suppressed. Suppressed records
    are not trained on, even where the release shows some of their values; if all are suppressed, the classifier is the
    baseline. The baseline is ZeroR: for every record it predicts the shares of the classes among the records of the
    other folds, suppressed or not.

    Needs 16 bytes per record, class and classifier.

    The release was made from all records, including those evaluated on, which flatters it a little. With `choose` the
    transformation is chosen in every fold for its training records alone; `Feature.released` and
    `ClassifiedRecords.kept` are not looked at then.

    Args:
        records: At least as many as there are folds, of at least two classes.
        request: Has each classifier once, and at least 2 folds; a class of fewer records than folds is in some of them
            only. The seed decides the folds and the classifiers' random choices: equal arguments give the same
            assessment.
        control: May stop the work before a training.
        on_progress: Called before each training with the number of trainings done and the number of all.
        choose: Chooses a transformation for some of the records.

    Raises:
        ValueError: Records, classes, folds or classifiers break the conditions above; callers check them before.
        Stopped: `control` says so.
    """
    classifiers, folds, seed = request.classifiers, request.folds, request.seed
    _require(records, classifiers, folds)
    classes, labels = records.classes, records.class_labels
    divided = Folds(classes, len(labels), assign_folds(classes, folds, seed))
    trainings = itertools.count()

    def before() -> None:
        control.raise_if_stopped()
        on_progress(next(trainings), 2 * folds * len(classifiers))

    given = Version.of([feature.original for feature in records.features], np.ones(len(classes), np.bool_))
    original = predicted(divided, lambda trained: given, classifiers, seed, before)
    if choose is None:
        fixed = Version.of([feature.released for feature in records.features], records.kept)
        anonymized = predicted(divided, lambda trained: fixed, classifiers, seed, before)
    else:
        anonymized = predicted(divided, lambda trained: Version.of(*choose(trained)), classifiers, seed, before)
    baseline = measure(classes, divided.baseline(), labels)
    return Assessment(
        class_column=records.class_column,
        features=tuple(feature.column for feature in records.features),
        class_labels=labels,
        records=len(classes),
        folds=folds,
        baseline=baseline,
        comparisons=tuple(
            _compared(
                classifier,
                measure(classes, original[classifier], labels),
                measure(classes, anonymized[classifier], labels),
                baseline,
            )
            for classifier in classifiers
        ),
    )


def _compared(
    classifier: Classifier, original: Measures, anonymized: Measures, baseline: Measures
) -> ClassifierComparison:
    possible = original.accuracy - baseline.accuracy
    relative = (anonymized.accuracy - baseline.accuracy) / possible if possible > 0 else None
    return ClassifierComparison(classifier, original, anonymized, relative)


def _require(records: ClassifiedRecords, classifiers: Sequence[Classifier], folds: int) -> None:
    if not 2 <= folds <= len(records.classes):
        raise ValueError(f"{folds} folds of {len(records.classes)} records")
    if len(np.unique(records.classes)) < 2:
        raise ValueError("all records are of one class")
    if not classifiers or len(set(classifiers)) < len(classifiers):
        raise ValueError(f"not one or several different classifiers: {', '.join(classifiers)}")
