"""The command `classify`: how well classifiers that are trained on a release tell a class."""

from collections.abc import Iterator

import click
from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.files import NewFile, new_file
from tableveil.cli.follow import follow
from tableveil.cli.request_options import option, request_options
from tableveil.cli.tables import below, facts
from tableveil.cli.verb import CommandSession, verb
from tableveil.client.names import RELEASES, resource_name
from tableveil.report.classification import overview, page
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
        parts += below(overview(assessment))
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
