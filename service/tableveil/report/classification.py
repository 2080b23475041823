"""The page of a classifier assessment: accuracies as bars, ROC curves, and all figures."""

from collections.abc import Iterator
from functools import partial

from tableveil import wording
from tableveil.pages import Line, lines, share_bars
from tableveil.report.model import Figure, Grid, Heading, Part, Report, Section, Sentences, SideBySide, Words
from tableveil.v1 import classification_service_pb2 as v1

MOST_CURVES = 6
"""ROC curves are drawn for so many classes, the most frequent ones; the tables have all."""

_GROUPS = {
    v1.CLASSIFIER_LOGISTIC_REGRESSION: 0,
    v1.CLASSIFIER_NAIVE_BAYES: 1,
    v1.CLASSIFIER_DECISION_TREE: 2,
    v1.CLASSIFIER_RANDOM_FOREST: 4,
}
"""The colour of each one's curves."""

_CHANCE = Line("by chance", [(0.0, 0.0), (1.0, 1.0)], 3, 2)


def page(report: v1.ClassificationReport) -> Report:
    """The page of an assessment."""
    return Report(
        title=f"Classifiers trained on {report.release}",
        opening=(Words(_summary(report)), Sentences(tuple(report.warnings))),
        sections=tuple(Section("", f"Class: {one.class_column}", tuple(_parts(one))) for one in report.assessments),
    )


def _parts(assessment: v1.ClassAssessment) -> Iterator[Part]:
    records, classes = wording.count(assessment.records), len(assessment.labels)
    yield Words(f"By {', '.join(assessment.features)}. {records} records, {classes} classes.")
    yield Heading("Accuracy: the share of the records told right")
    yield Words("Baseline: always the most frequent class.")
    yield Figure(partial(_accuracies, assessment))
    yield _figures(assessment)
    yield Heading("ROC curves, with the area under each")
    yield SideBySide(tuple((curves,) for curves in _curves(assessment)))
    yield _by_class(assessment)
    yield Heading("Confusion: true classes, and the classes that each classifier tells")
    yield from _confusions(assessment)


def _summary(report: v1.ClassificationReport) -> str:
    sampled, records = wording.count(report.sampled_records), wording.count(report.records)
    return (
        f"{sampled} of the {records} records of {wording.table_name(report.source)} were looked at, "
        f"{wording.count(report.suppressed_records)} of them suppressed in the release. "
        f"Cross-validation with {report.folds} folds: every record was evaluated by classifiers that were not trained "
        "on it. Original: trained on the source, evaluated on the source. Anonymized: trained on the release, "
        "evaluated on the same records as they are released, or would be if they were not suppressed."
    )


def classifier_name(classifier: v1.Classifier.ValueType) -> str:
    """`logistic regression`."""
    return wording.enum_word(v1.Classifier.Name(classifier), "CLASSIFIER_")


def _sides(classifier_comparison: v1.ClassifierComparison) -> tuple[tuple[str, v1.ClassifierMeasures], ...]:
    return ("original", classifier_comparison.original), ("anonymized", classifier_comparison.anonymized)


def _accuracies(assessment: v1.ClassAssessment) -> str:
    comparisons = assessment.comparisons
    return share_bars(
        f"Accuracy in telling {assessment.class_column}: the share of the records told right",
        [classifier_name(comparison.classifier) for comparison in comparisons],
        [
            ("baseline", [assessment.baseline.accuracy] * len(comparisons)),
            ("original", [comparison.original.accuracy for comparison in comparisons]),
            ("anonymized", [comparison.anonymized.accuracy for comparison in comparisons]),
        ],
        highest=1.0,
    )


def _figures(assessment: v1.ClassAssessment) -> Grid:
    columns = ("classifier", "baseline", "original", "anonymized", "relative", "Brier original", "Brier anonymized")
    rows = tuple(
        (
            classifier_name(comparison.classifier),
            f"{assessment.baseline.accuracy:.4f}",
            f"{comparison.original.accuracy:.4f}",
            f"{comparison.anonymized.accuracy:.4f}",
            f"{comparison.relative_accuracy:.4f}" if comparison.HasField("relative_accuracy") else "undefined",
            f"{comparison.original.brier:.4f}",
            f"{comparison.anonymized.brier:.4f}",
        )
        for comparison in assessment.comparisons
    )
    return Grid(f"{assessment.class_column}: accuracy, and Brier score", columns, rows, frozenset(range(1, 7)))


def overview(assessment: v1.ClassAssessment) -> Grid:
    """The figures on one screen: accuracies, and the mean area under the ROC curves."""
    labels = f" ({wording.short(', '.join(assessment.labels))})" if assessment.labels else ""
    columns = ("classifier", "baseline", "original", "anonymized", "relative", "AUC original", "AUC anonymized")
    rows = tuple(
        (
            classifier_name(comparison.classifier),
            wording.share(assessment.baseline.accuracy),
            wording.share(comparison.original.accuracy),
            wording.share(comparison.anonymized.accuracy),
            wording.share(comparison.relative_accuracy) if comparison.HasField("relative_accuracy") else "undefined",
            _mean_auc(comparison.original),
            _mean_auc(comparison.anonymized),
        )
        for comparison in assessment.comparisons
    )
    return Grid(f"{wording.printable(assessment.class_column)}{labels}", columns, rows, frozenset(range(1, 7)))


def _mean_auc(measures: v1.ClassifierMeasures) -> str:
    """The mean over classes; each class's own is on the page."""
    areas = [measure.auc for measure in measures.classes if measure.HasField("auc")]
    return f"{sum(areas) / len(areas):.3f}" if areas else "undefined"


def _curves(assessment: v1.ClassAssessment) -> Iterator[Figure]:
    """One chart per class; with two classes, one chart, since each curve mirrors the other."""
    sizes = [sum(one.predicted) for one in assessment.baseline.classes]
    frequent = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))[:MOST_CURVES]
    shown = [min(range(2), key=lambda i: sizes[i])] if len(sizes) == 2 else frequent
    for position in shown:
        curves = [
            _curve(comparison, side, measures.classes[position])
            for comparison in assessment.comparisons
            for side, measures in _sides(comparison)
            if measures.classes[position].roc
        ]
        if curves:
            title = (
                f"{assessment.class_column}: {assessment.labels[position]}, {wording.count(sizes[position])} records"
            )
            rates = ("false positive rate", "true positive rate")
            yield Figure(partial(lines, title, *rates, [*curves, _CHANCE], (0.0, 1.0), (0.0, 1.0)), title)


def _curve(classifier_comparison: v1.ClassifierComparison, side: str, measures: v1.ClassMeasures) -> Line:
    points = [(point.false_positive_rate, point.true_positive_rate) for point in measures.roc]
    label = f"{classifier_name(classifier_comparison.classifier)}, {side} ({measures.auc:.3f})"
    return Line(label, points, _GROUPS[classifier_comparison.classifier], int(side == "anonymized"))


def _by_class(assessment: v1.ClassAssessment) -> Grid:
    rows = tuple(
        (
            *(label, classifier_name(comparison.classifier), side),
            f"{one.precision:.4f}" if one.HasField("precision") else "undefined",
            f"{one.recall:.4f}" if one.HasField("recall") else "undefined",
            f"{one.auc:.4f}" if one.HasField("auc") else "undefined",
        )
        for position, label in enumerate(assessment.labels)
        for comparison in assessment.comparisons
        for side, measures in _sides(comparison)
        for one in [measures.classes[position]]
    )
    columns = ("class", "classifier", "trained on", "precision", "recall", "AUC")
    return Grid(f"{assessment.class_column}: by class", columns, rows, frozenset({3, 4, 5}))


def _confusions(assessment: v1.ClassAssessment) -> Iterator[Grid]:
    """A table of true and predicted classes for each classifier and side."""
    columns = ("records of", *(f"told {label}" for label in assessment.labels))
    for comparison in assessment.comparisons:
        for side, measures in _sides(comparison):
            rows = tuple((one.label, *map(wording.count, one.predicted)) for one in measures.classes)
            caption = f"{assessment.class_column}: classes that {classifier_name(comparison.classifier)} tells, {side}"
            yield Grid(caption, columns, rows, frozenset(range(1, len(columns))), matrix=True)
