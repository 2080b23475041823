"""The command `demo`: everything from a generated table to a query on the released one, on its own server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import click
import duckdb
from rich.console import Console
from rich.table import Table

from tableveil.backend import table
from tableveil.cli.account import account
from tableveil.cli.follow import follow
from tableveil.cli.output import Output
from tableveil.cli.verb import CommandSession
from tableveil.client import Client
from tableveil.client.formats import ExportFormat
from tableveil.client.token import DEMO
from tableveil.demo.discharges import create_discharges, create_zip_codes
from tableveil.demo.place import DATABASE, LOG, POLICY, RELEASED, REPORT, TABLE, clear
from tableveil.demo.visits import create_visits
from tableveil.document import read_policy
from tableveil.errors import InternalError
from tableveil.identity.secret import token_file
from tableveil.v1 import policy_pb2, release_service_pb2

SECONDS_TO_START = 30.0

WIDTH_OF_FILES = 120


@click.command()
@click.option("--rows", type=click.IntRange(min=1), default=100_000, show_default=True, help="Rows of the table.")
@click.option("--seed", type=int, default=7, show_default=True, help="Equal seeds give equal tables.")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(DEMO),
    show_default=True,
    help="Where everything is left for you to look at; cleared first if an earlier demo made it.",
)
@click.option("--console", "in_browser", is_flag=True, help="Then show its database in a browser, until Ctrl-C.")
def demo(rows: int, seed: int, directory: Path, in_browser: bool) -> None:
    """Anonymize a generated table of hospital discharges, start to end."""
    output = Output()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH_OF_FILES
    with output.reporting():
        # A real database would hold raw values, so this one is private as well.
        os.umask(0o077)
        clear(directory)
        database, policy_file = directory / DATABASE, directory / POLICY
        console.print(f"[bold]1. A table.[/bold] {rows:,} made-up hospital discharges in {database}, seed {seed}:")
        _generate(database, rows, seed)
        _show(
            console,
            database,
            "SELECT name, age, sex, zip_code, admission_date, diagnosis, charge FROM discharges LIMIT 4",
        )
        text = resources.files("tableveil.demo").joinpath("policy.yaml").read_text(encoding="utf-8")
        policy_file.write_text(text, encoding="utf-8")
        console.print(f"\n[bold]2. A policy.[/bold] {policy_file} says what may be known; read its comments.")
        policy, _ = read_policy(text, "yaml")
        console.print("\n[bold]3. A job.[/bold] A server takes the policy over gRPC and searches:")
        with _server(database, directory / LOG) as address, Client(address, token_file=token_file(database)) as client:
            release = _release(CommandSession(client, output), policy)
            console.print()
            console.print(account(release))
            given_away = directory / RELEASED
            client.export(release.name, given_away, ExportFormat.DUCKDB)
            report = directory / REPORT
            report.write_bytes(client.get_report(release.name).content)
        console.print(
            f"\n[bold]4. The analysts' file.[/bold] {given_away} is a fresh file with the released objects only:"
        )
        _show(console, given_away, _question(release))
        console.print(f"\n[bold]5. The report.[/bold] {report} is for the people who decide upon the release.")
        # Clients look for a token here and in the usual directory.
        token = "" if directory == Path(DEMO) else f" --token-file {token_file(database)}"
        console.print(
            "\nNext: ask it something yourself, or take the same steps by hand:\n"
            f"  tableveil serve --database {database}\n"
            f"  tableveil releases{token}\n"
            f"  tableveil show {release.name}{token}\n"
            "  tableveil console    # the same in a browser, beside the server"
        )
        if in_browser:
            _show_in_browser(database, directory / LOG)


def _show_in_browser(database: Path, log: Path) -> None:
    from tableveil.console.run import run_console
    from tableveil.console.settings import ConsoleSettings

    with _server(database, log) as address:
        hint = f"and sign in by the token in {token_file(database)}."
        run_console(ConsoleSettings(address), lambda where: click.echo(f"\nOpen {where} {hint}"))


def _generate(database: Path, rows: int, seed: int) -> None:
    with duckdb.connect(str(database)) as connection:
        create_discharges(connection, TABLE, rows, seed)
        create_visits(connection, seed)
        create_zip_codes(connection)


@contextmanager
def _server(database: Path, log: Path) -> Iterator[str]:
    """A server process on a free port, as `tableveil serve` starts it; yields its address."""
    command = [sys.executable, "-m", "tableveil.cli", "serve", "--database", str(database), "--address", "127.0.0.1:0"]
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
        try:
            assert process.stdout is not None
            # It prints one line once it serves: "Tableveil <version> serves <path> on <address>".
            line = process.stdout.readline()
            if " on " not in line:
                raise InternalError("DEMO_SERVER", f"the demo's server did not start; {log} says why")
            yield line.rsplit(" on ", 1)[1].strip()
        finally:
            process.terminate()
            process.wait(SECONDS_TO_START)


def _release(session: CommandSession, policy: policy_pb2.Policy) -> release_service_pb2.Release:
    session.client.wait_until_ready(SECONDS_TO_START)
    job = session.client.submit(policy)
    return session.client.get_release(follow(session, job.name, session.output.err).result)


def _question(release: release_service_pb2.Release) -> str:
    """A question of an analyst about the released rows."""
    rows = table(release.target.name).sql(dialect="duckdb")
    return (
        "SELECT age, sex, count(*) AS patients, round(avg(charge), 2) AS mean_charge, mode(diagnosis) AS commonest "
        f"FROM {rows} GROUP BY ALL ORDER BY patients DESC LIMIT 8"
    )


def _show(console: Console, database: Path, query: str) -> None:
    """Prints a query and its result, read by DuckDB itself."""
    console.print(f"[dim]{query}[/dim]")
    with duckdb.connect(str(database), read_only=True) as connection:
        relation = connection.execute(query)
        shown = Table(*(column[0] for column in relation.description or ()), box=None, header_style="bold")
        for row in relation.fetchall():
            shown.add_row(*("NULL" if value is None else str(value) for value in row))
    console.print(shown)
