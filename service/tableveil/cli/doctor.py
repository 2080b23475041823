"""The command `doctor`: how a database is, on a running server or without one."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from tableveil import wording
from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.output import Output
from tableveil.cli.verb import CommandSession, verb
from tableveil.client import UnreachableError
from tableveil.errors import BusyError
from tableveil.v1 import admin_service_pb2 as v1

_MARKS = {
    v1.FINDING_LEVEL_OK: Text("ok", style="green"),
    v1.FINDING_LEVEL_WARNING: Text("warning", style="yellow"),
    v1.FINDING_LEVEL_PROBLEM: Text("problem", style="bold red"),
}


@click.command()
@click.option(
    "--database",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file to look at without a server; if a server has it open, that is asked.",
)
@verb
def doctor(session: CommandSession, database: Path | None) -> None:
    """Look at the file, the state, jobs, releases and the disk, and say what to do.

    Ends with 1 if there is a problem, with 0 if not. Nothing is changed: what can be put right by itself, the next
    start of the server does.
    """
    checks = _from_server(session) if database is None else _from_file(session, database)
    show_findings(session.output, checks.database, checks.findings)
    if any(finding.level == v1.FINDING_LEVEL_PROBLEM for finding in checks.findings):
        sys.exit(ExitCode.FAILED)


def show_findings(output: Output, database: str, findings: Sequence[v1.Finding]) -> None:
    """Writes what was found, with what to do below each."""
    if output.as_json:
        output.json(v1.ServerStatus(database=database, findings=findings))
        return
    output.show(Text(wording.printable(database), style="bold"))
    for finding in findings:
        line = Text.assemble(
            ("  ", ""), _MARKS[finding.level], f"  {finding.subject}: {wording.printable(finding.found)}"
        )
        output.show(line)
        if finding.advice:
            output.show(Text(f"      {wording.printable(finding.advice)}", style="italic"))


def _from_server(session: CommandSession) -> v1.ServerStatus:
    return session.client.get_server_status()


def _from_file(session: CommandSession, database: Path) -> v1.ServerStatus:
    # DuckDB takes longer to load than most commands take.
    from tableveil.backend import read_only
    from tableveil.convert import finding_to_proto
    from tableveil.operate import examine_file, examine_state

    path = database.resolve()
    findings = list(examine_file(path, served=False))
    if path.is_file():
        try:
            with read_only(path) as opened:
                findings += examine_state(opened)
        except BusyError as locked:
            return _from_owner(session, path, locked)
    return v1.ServerStatus(database=str(path), findings=map(finding_to_proto, findings))


def _from_owner(session: CommandSession, path: Path, locked: BusyError) -> v1.ServerStatus:
    """The report of the server that has the file open."""
    try:
        checks = _from_server(session)
    except UnreachableError:
        raise locked from None
    if checks.database != str(path):
        raise locked
    session.output.tell(f"A server has {wording.printable(str(path))} open; it was asked.")
    return checks
