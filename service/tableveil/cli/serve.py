"""The command `serve`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tableveil.cli.configuration import CONFIG
from tableveil.cli.output import Output
from tableveil.client import DEFAULT_ADDRESS


@click.command()
@CONFIG
@click.option(
    "--database",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The DuckDB file that holds the tables; the server alone has it open.",
)
@click.option("--address", default=DEFAULT_ADDRESS, show_default=True, help="Where to listen.")
@click.option("--allow-remote", is_flag=True, help="Allow an address that other machines reach; it needs TLS.")
@click.option("--plaintext", is_flag=True, help="Allow it without TLS, which a proxy in front of the server ends.")
@click.option("--memory-limit", metavar="SIZE", help="Memory of the database, such as 2GiB; it spills beyond.")
@click.option("--spill-limit", metavar="SIZE", help="Disk space for spilling; by default half of the free space.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of the database.")
@click.option("--concurrent-jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Jobs at a time.")
@click.option("--queue-limit", type=click.IntRange(min=1), default=100, show_default=True, help="Jobs that may wait.")
@click.option(
    "--load-directory",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Where files may be loaded from, folders in it included; may be repeated.",
)
@click.option(
    "--backup-directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where `tableveil backup` may write; without one there are no backups.",
)
@click.option(
    "--keep-days",
    type=click.IntRange(min=1),
    help="Delete ended jobs with what they found after so many days, other than releases; without it they stay.",
)
@click.option(
    "--log-format",
    type=click.Choice(["console", "json"]),
    default="console",
    show_default=True,
    help="The log on stderr: lines for people, or a JSON object each.",
)
def serve(
    database: Path,
    address: str,
    allow_remote: bool,
    plaintext: bool,
    memory_limit: str | None,
    spill_limit: str | None,
    threads: int | None,
    concurrent_jobs: int,
    queue_limit: int,
    load_directory: tuple[Path, ...],
    backup_directory: Path | None,
    keep_days: int | None,
    log_format: str,
) -> None:
    """Run the service until Ctrl-C or SIGTERM."""
    # The server loads the whole of Tableveil; the other commands need not wait for it.
    from tableveil.server import LogFormat, Settings, run_server

    with Output().reporting():
        settings = Settings(
            database=database,
            address=address,
            allow_remote=allow_remote,
            plaintext=plaintext,
            memory_limit=memory_limit,
            spill_limit=spill_limit,
            threads=threads,
            concurrent_jobs=concurrent_jobs,
            queue_limit=queue_limit,
            load_directories=load_directory,
            backup_directory=backup_directory,
            keep_days=keep_days,
            log_format=LogFormat(log_format),
        )
        sys.exit(run_server(settings))
