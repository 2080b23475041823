"""The store of classifier assessments, which are the owner's: their figures come from suppressed records too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Session
from tableveil.classification.model import Assessment, ClassMeasures, Comparison, Measures
from tableveil.policy import TableReference
from tableveil.requests.classification import Classifier
from tableveil.state.rows import insert_rows

ZERO_R = "ZERO_R"
"""What the baseline is called among the classifiers."""


@dataclass(frozen=True, slots=True)
class Classification:
    """A classifier assessment; `request` is what was asked for as JSON, `seconds` are those from the job's start.

    `sampled_records` of the source's `records` were looked at, of which `suppressed_records` are not released.
    `published` is the name of the table of figures, if one was written. Assessments are listed without ROC points.
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


def next_number(session: Session) -> int:
    """A number no assessment has."""
    number: int = session.value("SELECT nextval('tableveil.classification_numbers')")
    return number


def insert(session: Session, found: Classification) -> None:
    """Stores an assessment; call it in a transaction."""
    row = (
        found.number,
        found.job,
        found.created_at,
        found.release,
        found.source.catalog,
        found.source.schema,
        found.source.table,
        found.source_fingerprint,
        found.records,
        found.sampled_records,
        found.suppressed_records,
        found.folds,
        found.published,
        found.seconds,
        list(found.warnings),
        found.request,
    )
    insert_rows(session, "classifications", [row])
    insert_rows(
        session,
        "classification_columns",
        [
            (found.number, i, a.class_column, list(a.features), list(a.class_labels), a.records, a.folds)
            for i, a in enumerate(found.assessments)
        ],
    )
    for assessment in found.assessments:
        _insert_measures(session, found.number, assessment)


def _insert_measures(session: Session, number: int, assessment: Assessment) -> None:
    key = (number, assessment.class_column)
    measured = list(_measured(assessment))
    insert_rows(
        session,
        "classification_measures",
        [
            (*key, i, classifier, trained_on, measures.accuracy, measures.brier, relative)
            for i, (classifier, trained_on, measures, relative) in enumerate(measured)
        ],
    )
    for i, (_, _, measures, _) in enumerate(measured):
        insert_rows(
            session,
            "classification_classes",
            [
                (
                    *(*key, i, position, one.label, one.precision, one.recall, one.auc),
                    list(measures.confusion[position]),
                    [false for false, _ in one.roc],
                    [true for _, true in one.roc],
                )
                for position, one in enumerate(measures.classes)
            ],
        )


def _measured(assessment: Assessment) -> Iterator[tuple[str, str, Measures, float | None]]:
    """The classifier, what it was trained on, and what was measured."""
    yield ZERO_R, "input", assessment.baseline, None
    for comparison in assessment.comparisons:
        yield comparison.classifier.value, "input", comparison.original, None
        yield comparison.classifier.value, "release", comparison.anonymized, comparison.relative_accuracy


def find(session: Session, number: int) -> Classification | None:
    """The assessment of that number."""
    found = _load(session, "WHERE number = ?", [number], with_curves=True)
    return found[0] if found else None


def page(session: Session, before: int | None, size: int) -> list[Classification]:
    """The next `size` assessments with numbers below `before`, newest first, without their ROC points."""
    below = before if before is not None else 2**62
    return _load(session, "WHERE number < ? ORDER BY number DESC LIMIT ?", [below, size], with_curves=False)


def _load(session: Session, condition: str, parameters: list[object], *, with_curves: bool) -> list[Classification]:
    rows = session.rows(
        "SELECT number, job, created_at, release, source_catalog, source_schema, source_table, source_fingerprint, "
        "records, sampled_records, suppressed_records, folds, published, seconds, warnings, request "
        f"FROM tableveil.classifications {condition}",
        parameters,
    )
    return [_classification(session, with_curves, *row) for row in rows]


def _classification(
    session: Session,
    with_curves: bool,
    number: int,
    job: int,
    created_at: datetime,
    release: int,
    catalog: str,
    schema: str,
    name: str,
    fingerprint: str,
    records: int,
    sampled_records: int,
    suppressed_records: int,
    folds: int,
    published: str,
    seconds: float,
    warnings: list[str],
    request: str,
) -> Classification:
    return Classification(
        number=number,
        job=job,
        created_at=created_at,
        release=release,
        source=TableReference(catalog, schema, name),
        source_fingerprint=fingerprint,
        records=records,
        sampled_records=sampled_records,
        suppressed_records=suppressed_records,
        folds=folds,
        published=published,
        seconds=seconds,
        warnings=tuple(warnings),
        request=request,
        assessments=_assessments(session, number, with_curves),
    )


def _assessments(session: Session, number: int, with_curves: bool) -> tuple[Assessment, ...]:
    columns = session.rows(
        "SELECT class_column, features, labels, records, folds FROM tableveil.classification_columns "
        "WHERE classification = ? ORDER BY position",
        [number],
    )
    return tuple(
        _assessment(
            *(class_column, tuple(features), tuple(labels), records, folds),
            *_measures(session, number, class_column, with_curves),
        )
        for class_column, features, labels, records, folds in columns
    )


def _assessment(
    class_column: str,
    features: tuple[str, ...],
    labels: tuple[str, ...],
    records: int,
    folds: int,
    measures: Sequence[Measures],
    comparisons: Sequence[tuple[str, float | None]],
) -> Assessment:
    """The baseline comes first, then each classifier's measures of the input and of the release."""
    baseline, *others = measures
    pairs = zip(others[::2], others[1::2], comparisons[2::2], strict=True)
    return Assessment(
        class_column=class_column,
        features=features,
        class_labels=labels,
        records=records,
        folds=folds,
        baseline=baseline,
        comparisons=tuple(
            Comparison(Classifier(classifier), original, anonymized, relative)
            for original, anonymized, (classifier, relative) in pairs
        ),
    )


def _measures(
    session: Session, number: int, class_column: str, with_curves: bool
) -> tuple[list[Measures], list[tuple[str, float | None]]]:
    """In the order in which they were stored: the measures, and each one's classifier with its relative accuracy."""
    key = [number, class_column]
    curves = "false_positive_rates, true_positive_rates" if with_curves else "[]::DOUBLE[], []::DOUBLE[]"
    classes: dict[int, list[ClassMeasures]] = {}
    confusion: dict[int, list[tuple[int, ...]]] = {}
    for measures, label, precision, recall, auc, predicted, false, true in session.rows(
        f"SELECT measures, label, precision, recall, auc, predicted, {curves} "
        "FROM tableveil.classification_classes WHERE classification = ? AND class_column = ? "
        "ORDER BY measures, position",
        key,
    ):
        points = tuple(zip(false, true, strict=True))
        classes.setdefault(measures, []).append(ClassMeasures(label, precision, recall, auc, points))
        confusion.setdefault(measures, []).append(tuple(predicted))
    rows = session.rows(
        "SELECT position, accuracy, brier, classifier, relative_accuracy FROM tableveil.classification_measures "
        "WHERE classification = ? AND class_column = ? ORDER BY position",
        key,
    )
    found = [
        Measures(accuracy, brier, tuple(confusion[position]), tuple(classes[position]))
        for position, accuracy, brier, _, _ in rows
    ]
    return found, [(classifier, relative) for *_, classifier, relative in rows]
