"""The command `run`: one job on a database file, without a server that others reach."""

from __future__ import annotations

from pathlib import Path

import click

from tableveil.cli.follow import ON_UNPUBLISHED, follow
from tableveil.cli.output import Output
from tableveil.cli.own_server import client_of_own_server
from tableveil.cli.policies import DRY_RUN, LEVELS_OF, REQUEST_ID, queued, show_result_of
from tableveil.cli.policy_file import PolicyFile, policy_argument
from tableveil.cli.verb import CommandSession


@click.command()
@policy_argument
@click.option(
    "--database",
    required=True,
    type=click.Path(exists=True, path_type=Path, dir_okay=False),
    help="The DuckDB file that holds the tables; nobody else may have it open.",
)
@REQUEST_ID
@LEVELS_OF
@DRY_RUN
@ON_UNPUBLISHED
@click.option("--publish", multiple=True, metavar="NAME=TARGET", help="A target, as of `serve`; may be repeated.")
@click.option("--memory-limit", metavar="SIZE", help="Memory of the database, such as 2GiB; it spills beyond.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of the database.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, with the field names of the protos.")
def run(
    policy: PolicyFile,
    database: Path,
    request_id: str,
    levels_of: str | None,
    dry_run: bool,
    on_unpublished: str,
    publish: tuple[str, ...],
    memory_limit: str | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Make the release of a policy at once, without a server: for pipelines.

    It does what `submit --wait` does, on a server that lives as long as the command and that nobody else reaches.
    Ctrl-C and SIGTERM stop the job; nothing is written then. With --json, one JSON object per line: the job at each
    change, then the release.
    """
    output = Output(as_json)
    with output.reporting(), client_of_own_server(database, memory_limit, threads, publish) as client:
        session = CommandSession(client, output, alone=True)
        job = queued(session, policy, request_id, levels_of, dry_run)
        show_result_of(session, follow(session, job.name, output.err), on_unpublished)
