"""The page of a classifier assessment: accuracies as bars, ROC curves, and all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement

from tableveil import wording
from tableveil.charts import BarChart, BarSeries, LineChart, Marker, Series, Style, Table
from tableveil.charts.bar_chart import draw_bars
from tableveil.charts.line_chart import drawing
from tableveil.charts.page import add_table, head, heading, paragraph, text_of
from tableveil.charts.shapes import NARROW, printable
from tableveil.v1 import classification_service_pb2 as v1

MOST_CURVES = 6
"""ROC curves are drawn for so many classes, the most frequent ones; the tables have all."""

# Colours that people with any colour vision tell apart (Okabe and Ito).
_ORIGINAL, _ANONYMIZED, _BASELINE = "#0072b2", "#d55e00", "#767676"
_LOOKS = {
    v1.CLASSIFIER_LOGISTIC_REGRESSION: ("#0072b2", Marker.CIRCLE),
    v1.CLASSIFIER_NAIVE_BAYES: ("#d55e00", Marker.TRIANGLE),
    v1.CLASSIFIER_DECISION_TREE: ("#009e73", Marker.SQUARE),
    v1.CLASSIFIER_RANDOM_FOREST: ("#000000", Marker.DIAMOND),
}
_CHANCE = Series("by chance", [(0.0, 0.0), (1.0, 1.0)], Style(_BASELINE, "2 4", Marker.CROSS))

_STYLE = """
p, ul { max-width: 45rem; margin-left: auto; margin-right: auto; line-height: 1.5; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
h1, h2, h3 { max-width: 45rem; margin-left: auto; margin-right: auto; overflow-wrap: anywhere; }
"""


def as_html(report: v1.ClassificationReport) -> str:
    """The text of an HTML file, which is well-formed XML too."""
    title = f"Classifiers trained on {report.release}"
    root, body = head(title, _STYLE)
    heading(body, "h1", title)
    sampled, records = wording.count(report.sampled_records), wording.count(report.records)
    paragraph(
        body,
        f"{sampled} of the {records} records of {wording.table_name(report.source)} were looked at, "
        f"{wording.count(report.suppressed_records)} of them suppressed in the release. "
        f"Cross-validation with {report.folds} folds: every record was evaluated by classifiers that were not trained "
        "on it. Original: trained on the source, evaluated on the source. Anonymized: trained on the release, "
        "evaluated on the same records as they are released, or would be if they were not suppressed.",
    )
    if report.warnings:
        notes = SubElement(body, "ul")
        for warning in report.warnings:
            SubElement(notes, "li").text = printable(warning)
    charts = 0
    for assessment in report.assessments:
        heading(body, "h2", f"Class: {assessment.class_column}")
        paragraph(body, f"By {', '.join(assessment.features)}.")
        body.append(draw_bars(_accuracies(assessment)))
        add_table(body, _figures(assessment))
        heading(body, "h3", "ROC curves")
        for chart in _curves(assessment):
            body.append(drawing(chart, f"plot{charts}"))
            charts += 1
        heading(body, "h3", "By class")
        add_table(body, _by_class(assessment))
        _confusion(body, assessment)
    return text_of(root)


def classifier_name(classifier: v1.Classifier.ValueType) -> str:
    """`logistic regression`."""
    return wording.enum_word(v1.Classifier.Name(classifier), "CLASSIFIER_")


def _sides(found: v1.ClassifierComparison) -> tuple[tuple[str, v1.ClassifierMeasures], ...]:
    return ("original", found.original), ("anonymized", found.anonymized)


def _accuracies(assessment: v1.ClassAssessment) -> BarChart:
    comparisons = assessment.comparisons
    baseline = [assessment.baseline.accuracy] * len(comparisons)
    return BarChart(
        title=f"Accuracy in telling {assessment.class_column}",
        subtitle=f"{wording.count(assessment.records)} records, {len(assessment.labels)} classes",
        value_label="share of the records told right",
        groups=[classifier_name(found.classifier) for found in comparisons],
        bars=[
            BarSeries("baseline: the most frequent class", baseline, _BASELINE, hollow=True),
            BarSeries("original", [found.original.accuracy for found in comparisons], _ORIGINAL),
            BarSeries("anonymized", [found.anonymized.accuracy for found in comparisons], _ANONYMIZED),
        ],
        highest=1.0,
        written=lambda value: f"{value:.3f}",
    )


def _figures(assessment: v1.ClassAssessment) -> Table:
    columns = ("classifier", "baseline", "original", "anonymized", "relative", "Brier original", "Brier anonymized")
    rows = [
        (
            classifier_name(found.classifier),
            f"{assessment.baseline.accuracy:.4f}",
            f"{found.original.accuracy:.4f}",
            f"{found.anonymized.accuracy:.4f}",
            f"{found.relative_accuracy:.4f}" if found.HasField("relative_accuracy") else "undefined",
            f"{found.original.brier:.4f}",
            f"{found.anonymized.brier:.4f}",
        )
        for found in assessment.comparisons
    ]
    return Table(columns, rows, frozenset(range(1, len(columns))))


def _curves(assessment: v1.ClassAssessment) -> Iterator[LineChart]:
    """One chart per class; with two classes, one chart, since each curve mirrors the other."""
    sizes = [sum(one.predicted) for one in assessment.baseline.classes]
    frequent = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))[:MOST_CURVES]
    shown = [min(range(2), key=lambda i: sizes[i])] if len(sizes) == 2 else frequent
    for position in shown:
        lines = [
            _curve(found, side, measures.classes[position])
            for found in assessment.comparisons
            for side, measures in _sides(found)
            if measures.classes[position].roc
        ]
        if not lines:
            continue
        yield LineChart(
            title=f"{assessment.class_column}: {assessment.labels[position]}",
            subtitle=f"{wording.count(sizes[position])} records (area under the curve)",
            x_label="false positive rate",
            y_label="true positive rate",
            series=[*lines, _CHANCE],
            width=NARROW,
            x_span=(0.0, 1.0),
            y_span=(0.0, 1.0),
        )


def _curve(found: v1.ClassifierComparison, side: str, measures: v1.ClassMeasures) -> Series:
    color, marker = _LOOKS[found.classifier]
    anonymized = side == "anonymized"
    points = [(point.false_positive_rate, point.true_positive_rate) for point in measures.roc]
    label = f"{classifier_name(found.classifier)}, {side} ({measures.auc:.3f})"
    return Series(label, points, Style(color, "8 4" if anonymized else "", marker, hollow=anonymized))


def _by_class(assessment: v1.ClassAssessment) -> Table:
    rows = [
        (
            *(label, classifier_name(found.classifier), side),
            f"{one.precision:.4f}" if one.HasField("precision") else "undefined",
            f"{one.recall:.4f}" if one.HasField("recall") else "undefined",
            f"{one.auc:.4f}" if one.HasField("auc") else "undefined",
        )
        for position, label in enumerate(assessment.labels)
        for found in assessment.comparisons
        for side, measures in _sides(found)
        for one in [measures.classes[position]]
    ]
    return Table(("class", "classifier", "trained on", "precision", "recall", "AUC"), rows, frozenset((3, 4, 5)))


def _confusion(body: Element, assessment: v1.ClassAssessment) -> None:
    """Adds a table of true and predicted classes per classifier and side."""
    for found in assessment.comparisons:
        for side, measures in _sides(found):
            heading(body, "h3", f"Confusion: {classifier_name(found.classifier)}, {side}")
            add_table(body, _told(assessment.labels, measures.classes))


def _told(labels: Sequence[str], classes: Sequence[v1.ClassMeasures]) -> Table:
    rows = [(one.label, *map(wording.count, one.predicted)) for one in classes]
    columns = ("records of", *(f"told {label}" for label in labels))
    return Table(columns, rows, frozenset(range(1, len(columns))))
