"""Releases: the list, one of them, its report, two beside each other, and the approver's queue."""

from collections.abc import Callable

from starlette.responses import HTMLResponse, Response

from tableveil.console.faults import CORRECTABLE, placed
from tableveil.console.questions import Question, questions, quoted
from tableveil.console.render import fragment
from tableveil.console.visit import Visit, status_of
from tableveil.errors import NotFoundError, TableveilError
from tableveil.report.comparison import Side, compared
from tableveil.v1 import release_service_pb2 as v1
from tableveil.v1 import report_service_pb2

_FRAMED = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox allow-same-origin"
"""A report has no script, and none would run."""


def start(visit: Visit) -> Response:
    """Leads to the releases; or to the server, if the visitor may see none: an administrator without other roles."""
    visit.session.refresh_rights()
    pages = [path for path, *_ in visit.session.rights.menu]
    return visit.go("/releases" if "/releases" in pages else "/server")


def listed(visit: Visit) -> Response:
    """Releases that the visitor may see, newest first, by state and schema."""
    state, schema = visit.asked("state"), visit.asked("schema")
    number = dict(v1.ReleaseState.items()).get(f"RELEASE_STATE_{state.upper()}")
    entries = visit.client.list_releases([number] if number else [], schema, summary=True)
    return visit.listed("releases.html", entries, state=state, schema=schema)


def queue(visit: Visit) -> Response:
    """Releases that wait for an approver."""
    return visit.listed("approvals.html", visit.client.list_releases([v1.RELEASE_STATE_PENDING], summary=True))


def one(visit: Visit) -> Response:
    """A release: the report's first page, its objects, and what can be done with it."""
    return _one(visit)


def ask(visit: Visit) -> Response:
    """Questions that people ask, as statements for this release's own columns."""
    release = visit.client.get_release(visit.path("number"))
    names = {item.kind: item.name for item in release.objects}
    made: list[Question] = []
    # Warehouses have none of the functions.
    if release.current and not release.warehouse and v1.RELEASE_OBJECT_KIND_COLUMNS in names:
        meanings = visit.client.read_table(release.name, names[v1.RELEASE_OBJECT_KIND_COLUMNS]).to_pylist()
        kinds = (v1.RELEASE_OBJECT_KIND_ROWS, v1.RELEASE_OBJECT_KIND_COLUMNS, v1.RELEASE_OBJECT_KIND_ABOUT)
        rows, columns, about = (f"{quoted(release.target.schema)}.{quoted(names[kind])}" for kind in kinds)
        named = names.get(v1.RELEASE_OBJECT_KIND_ESTIMATED)
        estimated = f"{quoted(release.target.schema)}.{quoted(named)}" if named else ""
        events = [item.name for item in release.objects if item.kind == v1.RELEASE_OBJECT_KIND_EVENTS]
        of_events = [f"{quoted(release.target.schema)}.{quoted(each)}" for each in events]
        made = questions(rows, columns, about, meanings, estimated, of_events)
    if visit.is_part:
        return HTMLResponse(fragment("questions_part.html", questions=made))
    return visit.page("questions.html", release=release, questions=made)


def report(visit: Visit) -> Response:
    """The report as the visitor may see it."""
    as_pdf = visit.asked("format") == "pdf"
    wanted = report_service_pb2.REPORT_FORMAT_PDF if as_pdf else report_service_pb2.REPORT_FORMAT_HTML
    made = visit.client.get_report(f"releases/{visit.path('number')}", report_format=wanted)
    if as_pdf:
        named = {"content-disposition": f'attachment; filename="release-{visit.path("number")}.pdf"'}
        return Response(made.content, media_type="application/pdf", headers=named)
    return HTMLResponse(made.content, headers={"content-security-policy": _FRAMED})


def compare(visit: Visit) -> Response:
    """Two releases beside each other."""
    other = visit.asked("with")
    if not other.isascii() or not other.isdecimal():
        raise NotFoundError.of("NAME_INVALID", "with", "no number", "the number of another release")
    sides = (visit.client.get_release(visit.path("number")), visit.client.get_release(other))
    return visit.page("compared.html", comparison=compared(Side(sides[0], None), Side(sides[1], None)))


def approve(visit: Visit) -> Response:
    """Makes the release public."""
    return _changed(visit, lambda number: visit.client.approve_release(number, visit.text("note")))


def reject(visit: Visit) -> Response:
    """Drops what waits."""
    return _changed(visit, lambda number: visit.client.reject_release(number, visit.text("note")))


def promote(visit: Visit) -> Response:
    """Makes a release of a trial."""
    others = visit.text("other_people").replace(",", " ").split()
    return _changed(visit, lambda number: visit.client.promote_release(number, visit.text("repeat_reason"), others))


def withdraw(visit: Visit) -> Response:
    """Drops what is public."""
    return _changed(visit, lambda number: visit.client.withdraw_release(number, visit.text("note")))


_INPUTS = {"note": "note|reason", "repeat_reason": "repeat_reason", "other_people": r"other_people(\[\d+\])?"}


def _changed(visit: Visit, change: Callable[[str], v1.Release]) -> Response:
    """The release once it has changed, or the same page with what stands in the way."""
    try:
        return visit.go(f"/{change(visit.path('number')).name}")
    except CORRECTABLE as error:
        return _one(visit, error)


def _one(visit: Visit, error: TableveilError | None = None) -> Response:
    release = visit.client.get_release(visit.path("number"))
    status = 200 if error is None else status_of(error)
    allowed = {v1.ReleaseAction.Name(action).removeprefix("RELEASE_ACTION_").lower() for action in release.allowed}
    return visit.page("release.html", status, release=release, allowed=allowed, faults=placed(error, _INPUTS))
