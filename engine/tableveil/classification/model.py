"""The input of a classifier assessment, and its findings."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.requests.classification import Classifier


@dataclass(frozen=True, slots=True, eq=False)
class FeatureValues:
    """The values of one feature: a code per record, from 0.

    `numbers`, for numeric features, has per code the number that stands for it: the number itself, the middle of the
    interval, or NaN where nothing is known (NULL, `*`). Features without numbers are categories; `unknown`, if any, is
    the code of unknown values.
    """

    codes: NDArray[np.int32]
    categories: int
    numbers: NDArray[np.float64] | None = None
    unknown: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A column that classifiers learn from: as in the input, and as every record is or would be released."""

    column: str
    original: FeatureValues
    released: FeatureValues


@dataclass(frozen=True, slots=True, eq=False)
class ClassifiedRecords:
    """The records: `classes` is the code of each one's class, `kept` whether it is released or suppressed."""

    features: tuple[Feature, ...]
    class_column: str
    classes: NDArray[np.int32]
    class_labels: tuple[str, ...]
    kept: NDArray[np.bool_]


Chosen = tuple[tuple[FeatureValues, ...], NDArray[np.bool_]]
"""Per feature how every record would be released, and which of the chosen-for records are kept."""

ChooseInside = Callable[[NDArray[np.bool_]], Chosen]
"""Chooses a transformation for the records of a mask alone: for the training records, not for the evaluated ones."""


@dataclass(frozen=True, slots=True)
class ClassMeasures:
    """Measures of one class against all others; None where the divisor would be 0.

    `roc` are points (false positive rate, true positive rate), ascending, a few hundred at most.
    """

    label: str
    precision: float | None
    recall: float | None
    auc: float | None
    roc: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Measures:
    """How a classifier did on the records it was not trained on, over all folds.

    `brier` is the mean over records of the squared differences between the predicted probabilities and the truth (1 for
    the true class, else 0), summed over classes. `confusion[i][j]` records of class i were predicted to be of class j.
    """

    accuracy: float
    brier: float
    confusion: tuple[tuple[int, ...], ...]
    classes: tuple[ClassMeasures, ...]


@dataclass(frozen=True, slots=True)
class ClassifierComparison:
    """One classifier, trained on the input and on the release.

    `relative_accuracy` = (anonymized - baseline) / (original - baseline); None where the original is no better than the
    baseline: then nothing could be lost.
    """

    classifier: Classifier
    original: Measures
    anonymized: Measures
    relative_accuracy: float | None


@dataclass(frozen=True, slots=True)
class Assessment:
    """The findings for one class column. `baseline` predicts the most frequent class for every record (ZeroR)."""

    class_column: str
    features: tuple[str, ...]
    class_labels: tuple[str, ...]
    records: int
    folds: int
    baseline: Measures
    comparisons: tuple[ClassifierComparison, ...]
