"""Watching a job until it ends, and its release until it is published, as `watch` and `submit --wait` do."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import click
from rich.console import Console

from tableveil.cli.ended import of_job
from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.interruptible import interruptible
from tableveil.cli.verb import CommandSession
from tableveil.client.failures import error_from
from tableveil.client.progress import ProgressView, progress_view
from tableveil.errors import TableveilError
from tableveil.v1 import job_service_pb2

_STOPS = (
    "Stopping; nothing is written unless {name} is being committed. If it is, running the policy again says that its "
    "release is there."
)
_GOES_ON = (
    "Stopped watching; {name} goes on. Watch it again with `tableveil watch {name}`, or stop it with `tableveil cancel "
    "{name}`."
)
_LATER = {False: "by the server", True: "by the next run or server with its targets"}

ON_UNPUBLISHED = click.option(
    "--on-unpublished",
    type=click.Choice(["fail", "warn"]),
    default="fail",
    show_default=True,
    help="If a target does not take the release: end with exit code 11, or only say so.",
)
_CHOICE = "\nk: keep the best found so far and go on with it, s: stop {what}, Enter: go on"


def follow(session: CommandSession, name: str, console: Console) -> job_service_pb2.Job:
    """Shows the job's changes on the console, or as lines of JSON, and returns it once it has succeeded.

    Ends the process if the job does not succeed, or at Ctrl-C, which leaves the job to its server. On a terminal Ctrl-C
    asks first, where the search has something that it could keep.
    """
    output = session.output
    watched = _Watched(None if output.as_json else progress_view(console))
    try:
        job = interruptible(
            session.client, lambda: _show_changes(session, name, watched), lambda: watched.asks(session)
        )
    except KeyboardInterrupt:
        output.tell((_STOPS if session.alone else _GOES_ON).format(name=name))
        sys.exit(ExitCode.CTRL_C)
    if job.state != job_service_pb2.JOB_STATE_SUCCEEDED:
        output.report(error_from(job.failure))
        sys.exit(of_job(job))
    return job


def settle(session: CommandSession, job: job_service_pb2.Job, on_unpublished: str, show: Callable[[], None]) -> None:
    """Waits for the targets of the release that a job made, shows the result, and then tells of targets without it.

    Raises:
        UnpublishedError: there is such a target, and it is not only to be told.
    """
    try:
        unpublished = interruptible(session.client, lambda: session.client.unpublished(job))
    except KeyboardInterrupt:
        session.output.tell(f"Stopped waiting; {job.result} stands, and is published {_LATER[session.alone]}.")
        sys.exit(ExitCode.CTRL_C)
    show()
    if unpublished is not None:
        if on_unpublished == "fail":
            raise unpublished
        session.output.report(unpublished)


@dataclass(slots=True)
class _Watched:
    """A job as it was shown last, and how it is shown."""

    view: ProgressView | None
    job: job_service_pb2.Job = field(default_factory=job_service_pb2.Job)

    def asks(self, session: CommandSession) -> bool:
        """Asks at Ctrl-C what to do, if there is a choice; returns whether to go on."""
        searches = self.job.phase == job_service_pb2.JOB_PHASE_SEARCHING and self.job.progress.HasField("best_score")
        if self.view is None or not searches or not sys.stdin.isatty():
            return False
        self.view.__exit__(None, None, None)
        try:
            what = "the job" if session.alone else "watching"
            answer = click.prompt(_CHOICE.format(what=what), "", show_default=False, err=True).strip().lower()
            if answer.startswith("k"):
                session.client.cancel_job(self.job.name, keep_best=True)
        except click.Abort:
            return False
        except TableveilError as error:
            session.output.tell(str(error))
        finally:
            self.view.__enter__()
        return not answer.startswith("s")


def _show_changes(session: CommandSession, name: str, watched: _Watched) -> job_service_pb2.Job:
    """Returns the job once it has ended."""
    if watched.view is None:
        for watched.job in session.client.watch_job(name):
            session.output.json(job_service_pb2.WatchJobResponse(job=watched.job))
        return watched.job
    with watched.view:
        for watched.job in session.client.watch_job(name):
            watched.view.show(watched.job)
    return watched.job
