"""The store of classifier assessments, which are the owner's: their figures come from suppressed records, too."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tableveil.backend import Ledger
from tableveil.classification.model import Assessment, ClassifierComparison, ClassMeasures, Measures
from tableveil.policy import TableReference
from tableveil.requests.classification import Classifier
from tableveil.state.mapper import NumberedTable, Table
from tableveil.state.seen import UNHIDDEN, Audience, Condition, measured

ZERO_R = "ZERO_R"
"""The name of the baseline among the classifiers."""


@dataclass(frozen=True, slots=True)
class Classification:
    """A classifier assessment; `request` is the request as JSON, `seconds` are those from the job's start.

    `sampled_records` of the source's `records` were used; `suppressed_records` of these are not released. `published`
    is the name of the table of figures, if one was written. Assessments are listed without ROC points.
    """

    number: int
    job: int
    created_at: datetime
    release: int
    source: TableReference
    source_fingerprint: str
    records: int
    sampled_records: int
    suppressed_records: int
    folds: int
    published: str
    seconds: float
    warnings: tuple[str, ...]
    request: str
    assessments: tuple[Assessment, ...]
    audience: Audience = Audience.OWNER


@dataclass(frozen=True, slots=True)
class _Class:
    """One class: how many of its records were predicted to be of each, and the points of its ROC curve."""

    label: str
    precision: float | None
    recall: float | None
    auc: float | None
    predicted: tuple[int, ...]
    false_positive_rates: tuple[float, ...]
    true_positive_rates: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Measured:
    """The measures of a classifier that was trained on the input or on the release."""

    classifier: str
    trained_on: str
    accuracy: float
    brier: float
    relative_accuracy: float | None
    classes: tuple[_Class, ...]


@dataclass(frozen=True, slots=True)
class _ClassColumn:
    """A class column. The baseline's measures come first, then each classifier's of the input and of the release."""

    class_column: str
    features: tuple[str, ...]
    labels: tuple[str, ...]
    records: int
    folds: int
    measures: tuple[_Measured, ...]


def _columns(*, curves: bool) -> Table[_ClassColumn]:
    key = ("classification", "column_position")
    names = {} if curves else {"false_positive_rates": None, "true_positive_rates": None}
    classes = Table("classification_classes", _Class, *key, "measures", position=True, names=names)
    measures = Table("classification_measures", _Measured, *key, position=True, parts={"classes": classes})
    return Table("classification_columns", _ClassColumn, key[0], position=True, parts={"measures": measures})


_WITH_CURVES, _WITHOUT_CURVES = _columns(curves=True), _columns(curves=False)


class _Classifications(NumberedTable[Classification]):
    """Assessments, whose measures are stored in another form."""

    def insert_all(self, ledger: Ledger, rows: Mapping[Any, Sequence[Classification]]) -> None:
        """With their measures."""
        super().insert_all(ledger, rows)
        for held_value in itertools.chain.from_iterable(rows.values()):
            _WITH_CURVES.insert(ledger, [_stored(one) for one in held_value.assessments], held_value.number)

    def find(self, ledger: Ledger, number: int) -> Classification | None:
        """The assessment of that number, with its ROC points."""
        classification = super().find(ledger, number)
        return None if classification is None else _assessed(ledger, [classification], _WITH_CURVES)[0]

    def page(self, ledger: Ledger, before: int | None, size: int, only: Condition = UNHIDDEN) -> list[Classification]:
        """Without ROC points."""
        return _assessed(ledger, super().page(ledger, before, size, only), _WITHOUT_CURVES)


CLASSIFICATIONS = _Classifications(
    "classifications",
    Classification,
    "classification_numbers",
    beside=[_WITH_CURVES],
    seen=measured("release"),
    reviewed=True,
)


def _assessed(ledger: Ledger, found: Sequence[Classification], columns: Table[_ClassColumn]) -> list[Classification]:
    stored = columns.of(ledger, [one.number for one in found])
    return [replace(one, assessments=tuple(map(_assessment, stored[one.number]))) for one in found]


def _stored(assessment: Assessment) -> _ClassColumn:
    def measured(classifier: str, trained_on: str, measures: Measures, relative: float | None = None) -> _Measured:
        classes = tuple(
            _Class(
                *(one.label, one.precision, one.recall, one.auc, predicted),
                tuple(false for false, _ in one.roc),
                tuple(true for _, true in one.roc),
            )
            for one, predicted in zip(measures.classes, measures.confusion, strict=True)
        )
        return _Measured(classifier, trained_on, measures.accuracy, measures.brier, relative, classes)

    measures = [measured(ZERO_R, "input", assessment.baseline)]
    for one in assessment.comparisons:
        measures.append(measured(one.classifier.value, "input", one.original))
        measures.append(measured(one.classifier.value, "release", one.anonymized, one.relative_accuracy))
    return _ClassColumn(
        assessment.class_column,
        assessment.features,
        assessment.class_labels,
        assessment.records,
        assessment.folds,
        tuple(measures),
    )


def _assessment(stored: _ClassColumn) -> Assessment:
    baseline, *others = stored.measures
    return Assessment(
        class_column=stored.class_column,
        features=stored.features,
        class_labels=stored.labels,
        records=stored.records,
        folds=stored.folds,
        baseline=_measures(baseline),
        comparisons=tuple(
            ClassifierComparison(
                Classifier(released.classifier), _measures(original), _measures(released), released.relative_accuracy
            )
            for original, released in zip(others[::2], others[1::2], strict=True)
        ),
    )


def _measures(stored: _Measured) -> Measures:
    classes = tuple(
        ClassMeasures(
            *(one.label, one.precision, one.recall, one.auc),
            tuple(zip(one.false_positive_rates, one.true_positive_rates, strict=True)),
        )
        for one in stored.classes
    )
    return Measures(stored.accuracy, stored.brier, tuple(one.predicted for one in stored.classes), classes)
