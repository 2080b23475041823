"""The command `compare`: two releases side by side."""

from collections.abc import Sequence

import click
from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.files import NewFile, new_file
from tableveil.cli.tables import below
from tableveil.cli.verb import DATABASE, CommandSession, verb
from tableveil.client.names import RELEASES, resource_name
from tableveil.errors import DeniedError
from tableveil.v1.release_service_pb2 import Release
from tableveil.v1.utility_service_pb2 import UtilityReport


@click.command()
@click.argument("first")
@click.argument("second")
@new_file("html", "Write a page instead.")
@DATABASE
@verb
def compare(session: CommandSession, first: str, second: str, html: NewFile | None) -> None:
    """Show two releases side by side: policies, levels, risk, loss, suppression, and what became finer or coarser.

    Usefulness is compared if `tableveil utility` measured it for both. With --json: both releases.
    """
    # They load the templates, which no other command of releases needs.
    from tableveil.report.comparison import Side, compared, page
    from tableveil.report.html import as_html

    if html is not None:
        html.require_free()
    releases = [session.client.get_release(resource_name(RELEASES, name)) for name in (first, second)]
    if session.output.as_json:
        session.output.json({"first": releases[0], "second": releases[1]})
        return
    measured = _measured(session, releases) if all(map(wording.has_evidence, releases)) else {}
    sides = [Side(release, measured.get(release.name)) for release in releases]
    comparison = compared(*sides)
    if html is not None:
        html.write(as_html(page(comparison)))
        return
    parts: list[RenderableType] = [Text(wording.printable(comparison.title), style="bold")]
    for table in comparison.tables:
        parts += below(table, "none")
    parts += [Text(f"note: {wording.printable(note)}") for note in comparison.notes]
    session.output.show(Group(*parts))


def _measured(session: CommandSession, releases: Sequence[Release]) -> dict[str, UtilityReport]:
    """The newest utility report of each release, with its columns; auditors may see none."""
    newest: dict[str, str] = {}
    try:
        for report in session.client.list_results(UtilityReport):
            newest.setdefault(report.release, report.name)
            if all(release.name in newest for release in releases):
                break
    except DeniedError:
        return {}
    # Lists leave the columns out.
    return {
        release.name: session.client.get_result(UtilityReport, newest[release.name])
        for release in releases
        if release.name in newest
    }
