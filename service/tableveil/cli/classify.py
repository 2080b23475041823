"""The command `classify`: how well classifiers that are trained on a release tell a class."""

from collections.abc import Iterator

import click
from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.files import NewFile, new_file
from tableveil.cli.follow import follow
from tableveil.cli.request_options import option, request_options
from tableveil.cli.tables import facts, listing
from tableveil.cli.verb import CommandSession, verb
from tableveil.client.names import RELEASES, resource_name
from tableveil.report.classification import page
from tableveil.report.html import as_html
from tableveil.v1 import classification_service_pb2 as v1

RESULT = v1.ClassificationReport


@click.command()
@click.argument("release")
@request_options(
    v1.ClassificationRequest,
    "asked",
    option("classes", "--class", metavar="COLUMN"),
    option("features", "--feature", metavar="COLUMN"),
    option("classifiers", "--classifier"),
    option("folds", type=click.IntRange(min=2)),
    option("seed", type=click.IntRange(min=0)),
    option("max_records", type=click.IntRange(min=2)),
    "choose_inside_folds",
    "publish",
)
@new_file("html", "Also write a page with charts and all figures.")
@verb
def classify(session: CommandSession, release: str, asked: v1.ClassificationRequest, html: NewFile | None) -> None:
    """Measure how well classifiers that are trained on a release tell a class.

    They are trained on the release and on its source, and evaluated on the same records, which they were not trained
    on. The assessment is for the owner of the table, unless it is published. With --json, one JSON object per line: the
    job at each change, then the assessment.
    """
    if html is not None:
        html.require_free()
    asked.release = resource_name(RELEASES, release)
    job = session.client.submit_analysis(v1.AssessClassifiersRequest(classification=asked))
    show_result(session, follow(session, job.name, session.output.err).result, html)


def show_result(session: CommandSession, name: str, html: NewFile | None = None) -> None:
    """Writes an assessment as JSON, or as tables for people; and as a page, if there is a path for one."""
    result = session.client.get_result(RESULT, name)
    if html is not None:
        html.write(as_html(page(result)))
    session.output.result("classification", result, _report)


def _report(report: v1.ClassificationReport) -> RenderableType:
    parts: list[RenderableType] = [Text(report.name, style="bold"), facts(_about(report))]
    for assessment in report.assessments:
        labels = f" ({wording.short(', '.join(assessment.labels))})" if assessment.labels else ""
        heading = f"{wording.printable(assessment.class_column)}{labels}"
        parts += [Text(""), Text(heading, style="bold"), _figures(assessment)]
    warnings = [Text(f"warning: {wording.printable(warning)}") for warning in report.warnings]
    return Group(*parts, *([Text("")] if warnings else []), *warnings)


def _about(report: v1.ClassificationReport) -> Iterator[tuple[str, str]]:
    yield "of", f"{report.release}, from {wording.table_name(report.source)}"
    suppressed = wording.count(report.suppressed_records)
    looked = f"{wording.count(report.sampled_records)} of {wording.count(report.records)}, {suppressed} suppressed"
    yield "records", looked
    yield "features", wording.printable(", ".join(report.assessments[0].features))
    yield "folds", wording.count(report.folds)
    if report.published:
        yield "published", wording.printable(report.published)


def _figures(assessment: v1.ClassAssessment) -> RenderableType:
    rows = [
        (
            wording.enum_word(v1.Classifier.Name(comparison.classifier), "CLASSIFIER_"),
            wording.share(assessment.baseline.accuracy),
            wording.share(comparison.original.accuracy),
            wording.share(comparison.anonymized.accuracy),
            wording.share(comparison.relative_accuracy) if comparison.HasField("relative_accuracy") else "undefined",
            _mean_auc(comparison.original),
            _mean_auc(comparison.anonymized),
        )
        for comparison in assessment.comparisons
    ]
    columns = ("classifier", "baseline", "original", "anonymized", "relative", "AUC original", "AUC anonymized")
    return listing(columns, rows, "", numbers=columns[1:])


def _mean_auc(measures: v1.ClassifierMeasures) -> str:
    """The mean over classes; each class's own is on the page."""
    areas = [measure.auc for measure in measures.classes if measure.HasField("auc")]
    return f"{sum(areas) / len(areas):.3f}" if areas else "undefined"
