"""The command `run`: one job on a database file, without a server that others reach."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tableveil.cli.follow import follow
from tableveil.cli.output import Output
from tableveil.cli.policies import DRY_RUN, LEVELS_OF, REQUEST_ID, queued, show_result_of
from tableveil.cli.policy_file import PolicyFile, policy_argument
from tableveil.cli.verb import Session
from tableveil.client import Client
from tableveil.identity.secret import new_secret


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
@click.option("--memory-limit", metavar="SIZE", help="Memory of the database, such as 2GiB; it spills beyond.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of the database.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, with the field names of the protos.")
def run(
    policy: PolicyFile,
    database: Path,
    request_id: str,
    levels_of: str | None,
    dry_run: bool,
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
    with output.reporting(), _client_of_own_server(database, memory_limit, threads) as client:
        session = Session(client, output)
        job = queued(session, policy, request_id, levels_of, dry_run)
        left = "Stopping; nothing is written unless {name} is being committed."
        show_result_of(session, follow(session, job.name, output.err, left))


@contextmanager
def _client_of_own_server(database: Path, memory_limit: str | None, threads: int | None) -> Iterator[Client]:
    """A client of a server in this process, on a socket in a directory that only this user may enter."""
    from tableveil.server import Settings, TableveilServer

    # The server's files beside the database hold raw values.
    os.umask(0o077)
    with TemporaryDirectory(prefix="tableveil-") as directory:
        address = f"unix:{directory}/socket"
        settings = Settings(database, (address,), memory_limit=memory_limit, threads=threads, concurrent_jobs=1)
        token = new_secret()
        with closing(TableveilServer(settings, token)), Client(address, token) as client:
            yield client
