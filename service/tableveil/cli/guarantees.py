"""The figures of a release's privacy: parameters of models, requested or not, and those who could be found."""

from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.tables import listing
from tableveil.report.reached import asked, reached
from tableveil.v1 import release_service_pb2
from tableveil.wording.exposures import counted, exposure_columns, exposure_rows


def guarantees(release: release_service_pb2.Release, elsewhere: str = "") -> RenderableType:
    """A table for a console, of all models; or of those that the policy asks for, if all are shown `elsewhere`.

    The place is the name of the release or of the dry run.
    """
    shown = [one for one in release.guarantees if not elsewhere or asked(one, release.policy)]
    rows = [
        (
            wording.printable(one.model.replace("_", " ")),
            wording.short(one.column),
            wording.printable(one.parameter),
            reached(one.before) if one.HasField("before") else "",
            reached(one.after) if one.HasField("after") else "",
        )
        for one in shown
    ]
    none = "It was released before this was kept."
    lines = listing(("model", "of", "parameter", "before", "after"), rows, none, numbers=("before", "after"))
    others = len(release.guarantees) - len(shown)
    if not others:
        return lines
    more = Text(f"{others} more that the policy does not ask for: tableveil show {elsewhere} --privacy", style="dim")
    return Group(lines, more) if rows else more


def exposures(release: release_service_pb2.Release) -> RenderableType:
    """A table of those who could be found by labels and released values."""
    shown = counted(release.exposures)
    head = exposure_columns(shown)
    rows = [tuple(map(wording.printable, row)) for row in exposure_rows(shown)]
    return listing(head, rows, "", numbers=head[1:])
