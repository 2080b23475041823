"""Jobs: the list, one of them while it runs, and the result of a dry run."""

from collections.abc import Callable, Iterator

from starlette.responses import Response

from tableveil.client.watching import ENDED
from tableveil.console.live import PagePart, live
from tableveil.console.render import fragment
from tableveil.console.sessions import Sessions, VisitorSession
from tableveil.console.visit import Endpoint, Visit
from tableveil.v1 import dry_run_service_pb2
from tableveil.v1 import job_service_pb2 as v1


def listed(visit: Visit) -> Response:
    """Jobs that the visitor may see, newest first, by state."""
    state = visit.asked("state")
    number = dict(v1.JobState.items()).get(f"JOB_STATE_{state.upper()}")
    return visit.listed("jobs.html", visit.client.list_jobs([number] if number else []), state=state)


def one(visit: Visit) -> Response:
    """A job as it is; the page then follows it."""
    job = visit.client.get_job(visit.path("number"))
    worksheet = visit.asked("worksheet")
    return visit.page(
        "job.html",
        job=job,
        ended=job.state in ENDED,
        result=_page_of_result(job, worksheet),
        worksheet=worksheet if worksheet.isdecimal() else "",
    )


def cancel(visit: Visit) -> Response:
    """Asks a job to stop, or to go on with the best that it has."""
    visit.client.cancel_job(visit.path("number"), keep_best=visit.text("keep_best") == "yes")
    worksheet = visit.text("worksheet")
    return visit.go(f"/jobs/{visit.path('number')}" + (f"?worksheet={worksheet}" if worksheet.isdecimal() else ""))


def dry_run(visit: Visit) -> Response:
    """The release that a policy would make."""
    result = visit.client.get_result(dry_run_service_pb2.DryRun, visit.path("number"))
    worksheet = visit.asked("worksheet")
    return visit.page(
        "dry_run.html", dry_run=result, release=result.release, worksheet=worksheet if worksheet.isdecimal() else ""
    )


def events(sessions: Sessions) -> Endpoint:
    """The changes of a job, until it ends."""

    def of(session: VisitorSession, number: str) -> tuple[Iterator[PagePart], Callable[[], None]]:
        # A connection of its own: its end is the only way to leave a stream that is quiet.
        client = session.connect()

        def changes() -> Iterator[PagePart]:
            for job in client.watch_job(number):
                yield PagePart(fragment("job_state.html", job=job), job.state in ENDED)

        return changes(), client.close

    return live(sessions, of)


def _page_of_result(job: v1.Job, worksheet: str) -> str:
    collection, _, number = job.result.partition("/")
    asked = f"?worksheet={worksheet}" if worksheet.isdecimal() else ""
    if collection == "proposals" and asked:
        return f"/worksheets/{worksheet}/compare"
    return {"releases": f"/releases/{number}", "dryRuns": f"/dry-runs/{number}{asked}"}.get(collection, "")
