"""The commands `backup`, on a running server, and `restore`, without one."""

from datetime import UTC, datetime
from pathlib import Path

import click

from tableveil import wording
from tableveil.cli.doctor import show_findings
from tableveil.cli.output import Output
from tableveil.cli.request_options import request_option
from tableveil.cli.verb import CommandSession, verb
from tableveil.v1.admin_service_pb2 import BackupDatabaseRequest


@click.command()
@click.argument("name", required=False)
@request_option(BackupDatabaseRequest, "keep", type=click.IntRange(1))
@verb
def backup(session: CommandSession, name: str | None, keep: int | None) -> None:
    """Write a backup NAME.duckdb on a running server, by default called by the time in UTC.

    The server copies its database, as of one moment, into its --backup-directory, checks the copy, and gives it its
    name then. Jobs go on meanwhile. Ctrl-C gives it up and leaves nothing behind.
    """
    made, output = session.client.back_up(name or f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}", keep), session.output
    if output.as_json:
        output.json({"backup": made})
        return
    size = f"{made.size_bytes:,} bytes, {made.tables} tables with {made.rows:,} rows"
    output.show(f"{made.path}: {size}, in {wording.duration(made.duration)}.")
    if made.removed:
        output.show(f"Removed: {', '.join(made.removed)}.")


@click.command()
@click.argument("backup", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--database",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The new file; nothing is ever overwritten. Best named as the database was.",
)
@click.option(
    "--ledger",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A newer backup, or the database file itself, that knows the releases which the backup lacks.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, with the field names of the protos.")
def restore(backup: Path, database: Path, ledger: Path | None, as_json: bool) -> None:
    """Make a new database file of a backup.

    The copy is read from end to end and examined before it gets its name; start a server on it then. The backup stays
    as it is. With --ledger the releases that were made after the backup are known again, as withdrawn ones, and
    what was withdrawn, set or spent since stays so.
    """
    # DuckDB takes longer to load than most commands take.
    from tableveil.convert import finding_to_proto
    from tableveil.operate import restore as restored

    output = Output(as_json)
    with output.reporting():
        findings = list(map(finding_to_proto, restored(backup, database, ledger)))
        show_findings(output, str(database.resolve()), findings)
