"""Watching a job until it ends, as `watch` and `submit --wait` do."""

from __future__ import annotations

import sys
from contextlib import nullcontext

from rich.console import Console

from tableveil.cli.exit_codes import ExitCode, of_job
from tableveil.cli.interruptible import interruptible
from tableveil.cli.progress import progress_view
from tableveil.cli.verb import Session
from tableveil.client.failures import error_from
from tableveil.v1 import job_service_pb2

_STOPS = (
    "Stopping; nothing is written unless {name} is being committed. If it is, running the policy again says that its "
    "release is there."
)
_GOES_ON = (
    "Stopped watching; {name} goes on. Watch it again with `tableveil watch {name}`, or stop it with `tableveil cancel "
    "{name}`."
)


def follow(session: Session, name: str, console: Console) -> job_service_pb2.Job:
    """Shows the job's changes on the console, or as lines of JSON, and returns it once it has succeeded.

    Ends the process if the job does not succeed, or at Ctrl-C, which leaves the job to its server.
    """
    output = session.output
    try:
        job = interruptible(session.client, lambda: _show_changes(session, name, console))
    except KeyboardInterrupt:
        output.tell((_STOPS if session.alone else _GOES_ON).format(name=name))
        sys.exit(ExitCode.CTRL_C)
    if job.state != job_service_pb2.JOB_STATE_SUCCEEDED:
        output.report(error_from(job.failure))
        sys.exit(of_job(job))
    return job


def _show_changes(session: Session, name: str, console: Console) -> job_service_pb2.Job:
    """Returns the job once it has ended."""
    job = job_service_pb2.Job()
    with nullcontext() if session.output.as_json else progress_view(console) as view:
        for job in session.client.watch_job(name):
            if view is None:
                session.output.json(job_service_pb2.WatchJobResponse(job=job))
            else:
                view.show(job)
    return job
