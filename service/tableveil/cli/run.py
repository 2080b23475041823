"""The command `run`: one job on a database file, without a server that others reach."""

from pathlib import Path

import click

from tableveil.cli.follow import ON_UNPUBLISHED, follow
from tableveil.cli.grouped import grouped
from tableveil.cli.output import Output
from tableveil.cli.own_server import OwnServerOptions, client_of_own_server
from tableveil.cli.policies import JobOptions, queued, show_result_of
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
@grouped(JobOptions, "asked")
@ON_UNPUBLISHED
@grouped(OwnServerOptions, "server")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, with the field names of the protos.")
def run(
    policy: PolicyFile, database: Path, asked: JobOptions, on_unpublished: str, server: OwnServerOptions, as_json: bool
) -> None:
    """Make the release of a policy at once, without a server: for pipelines.

    It does what `submit --wait` does, on a server that lives as long as the command and that nobody else reaches.
    Ctrl-C and SIGTERM stop the job; nothing is written then. With --json, one JSON object per line: the job at each
    change, then the release.
    """
    output = Output(as_json)
    with output.reporting(), client_of_own_server(database, server) as client:
        session = CommandSession(client, output, alone=True)
        job = queued(session, policy, asked)
        show_result_of(session, follow(session, job.name, output.err), on_unpublished)
