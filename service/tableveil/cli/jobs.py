"""The commands about jobs: `jobs`, `watch`, `cancel`, `resubmit` and `delete`."""

from itertools import islice

import click
from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.error_block import error_block
from tableveil.cli.follow import ON_UNPUBLISHED, follow, settle
from tableveil.cli.request_options import request_option
from tableveil.cli.tables import facts, listing
from tableveil.cli.verb import LIMIT, ONCE, CommandSession, verb
from tableveil.client.failures import error_from
from tableveil.client.names import JOBS, resource_name
from tableveil.client.watching import ENDED
from tableveil.v1 import job_service_pb2 as v1
from tableveil.wording.progress import activity, findings


@click.command()
@request_option(v1.ListJobsRequest, "states", "--state")
@LIMIT
@verb
def jobs(session: CommandSession, state: list[v1.JobState.ValueType], limit: int) -> None:
    """List jobs, newest first."""
    output = session.output
    entries = list(islice(session.client.list_jobs(state), limit))
    rows = [
        (
            job.name,
            activity(job),
            wording.table_name(job.source),
            wording.target_name(job.target),
            wording.moment(job.submit_time),
            job.result or wording.printable(job.failure.code),
        )
        for job in entries
    ]
    output.answer(
        v1.ListJobsResponse(jobs=entries),
        listing(("job", "state", "source", "target", "submitted", "outcome"), rows, "No jobs yet."),
    )


@click.command()
@click.argument("job")
@ON_UNPUBLISHED
@verb
def watch(session: CommandSession, job: str, on_unpublished: str) -> None:
    """Show the progress of a job until it ends, and its release is published.

    With --json, one JSON object per line.
    """
    _watched(session, resource_name(JOBS, job), on_unpublished)


@click.command()
@click.argument("job")
@request_option(v1.CancelJobRequest, "keep_best")
@verb
def cancel(session: CommandSession, job: str, keep_best: bool) -> None:
    """Ask a job to stop.

    A job whose release is being committed completes.
    """
    answer = session.client.cancel_job(job, keep_best=keep_best)
    if session.output.as_json:
        session.output.json({"job": answer})
    elif answer.state in ENDED:
        session.output.show(f"{answer.name} has ended: {activity(answer)}.")
    else:
        asked = "end its search, and goes on with the best that it has" if keep_best else "stop"
        session.output.show(f"{answer.name} was asked to {asked}.")


@click.command()
@click.argument("job")
@click.option("--wait", is_flag=True, help="Show progress until the new job ends, and its release is published.")
@request_option(v1.ResubmitJobRequest, "widen")
@ON_UNPUBLISHED
@ONCE
@verb
def resubmit(session: CommandSession, job: str, wait: bool, widen: bool, on_unpublished: str) -> None:
    """Queue a new job for what a job that has ended was asked for.

    Whatever became of that: it may have failed, or its source may have other rows by now. A request id names the new
    job from now on. With --json and --wait, one JSON object per line.
    """
    output, queued = session.output, session.client.resubmit_job(job, widen=widen)
    if wait:
        _watched(session, queued.name, on_unpublished)
    elif output.as_json:
        output.json({"job": queued})
    else:
        output.show(f"{queued.name} submitted. Follow it with `tableveil watch {queued.name}`.")


@click.command()
@click.argument("job")
@verb
def delete(session: CommandSession, job: str) -> None:
    """Delete a job that has ended, with what came out of it.

    A job that made a release stays: the ledger names it.
    """
    session.client.delete_job(job)
    session.output.answer(v1.DeleteJobResponse(), f"{resource_name(JOBS, job)} is deleted.")


def _watched(session: CommandSession, name: str, on_unpublished: str) -> None:
    """Follows a job, and says how to see its result."""
    ended, output = follow(session, name, session.output.out), session.output
    seen = f"See what came out with `tableveil show {ended.result}`."
    settle(session, ended, on_unpublished, lambda: None if output.as_json else output.show(seen))


def job_details(job: v1.Job) -> RenderableType:
    """All facts about a job."""
    rows = [
        ("state", activity(job)),
        ("source", wording.table_name(job.source)),
        ("target", wording.target_name(job.target)),
        ("request id", wording.short(job.request_id)),
        ("submitted", wording.moment(job.submit_time)),
        ("started", wording.moment(job.start_time)),
        ("ended", wording.moment(job.end_time)),
        ("search", findings(job)),
        ("result", job.result),
        *(
            ("warning", f"{word}: {wording.printable(text)}")
            for _, word, text in wording.ranked(job.warnings, job.warning_ranks)
        ),
    ]
    parts: list[RenderableType] = [Text(job.name, style="bold"), facts([row for row in rows if row[1]])]
    if job.HasField("failure"):
        parts.append(error_block(error_from(job.failure)))
    return Group(*parts)
