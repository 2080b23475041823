"""The command `utility`: what a release still tells of its source."""

import click
from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.files import NewFile, new_file
from tableveil.cli.follow import follow
from tableveil.cli.tables import below
from tableveil.cli.verb import DATABASE, CommandSession, verb
from tableveil.client.names import RELEASES, resource_name
from tableveil.report.html import as_html
from tableveil.report.model import Grid
from tableveil.report.utility import CHANGE, changes, columns, moved_rates, page
from tableveil.v1 import utility_service_pb2

RESULT = utility_service_pb2.UtilityReport

_MOST_CHANGES = 10


@click.command()
@click.argument("release")
@new_file("html", "Also write a page with pictures of every column before and after.")
@DATABASE
@verb
def utility(session: CommandSession, release: str, html: NewFile | None) -> None:
    """Compare a release with its source: distributions, statistics, and how columns go together.

    The report is for the owner of the source, whose values it shows. With --json, one JSON object per line: the job at
    each change, then the report.
    """
    if html is not None:
        html.require_free()
    asked = utility_service_pb2.UtilityRequest(release=resource_name(RELEASES, release))
    job = session.client.submit_analysis(utility_service_pb2.SubmitUtilityReportRequest(utility=asked))
    show_result(session, follow(session, job.name, session.output.err).result, html)


def show_result(session: CommandSession, name: str, html: NewFile | None = None) -> None:
    """Writes a utility report as JSON, or as tables for people; and as a page, if there is a path for one."""
    result = session.client.get_result(RESULT, name)
    if html is not None:
        html.write(as_html(page(result)))
    session.output.result("utility_report", result, _report)


def _report(report: utility_service_pb2.UtilityReport) -> RenderableType:
    changed = Grid("Associations that changed most", CHANGE, changes(report, _MOST_CHANGES), frozenset({2, 3, 4}))
    parts = [*below(columns(report))[1:], *below(changed)]
    if report.rates:
        parts += below(moved_rates(report))
    parts += [Text(f"note: {wording.printable(note)}") for note in report.notes]
    return Group(*parts)
