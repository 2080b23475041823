"""The common part of all commands that talk to a server: its address, JSON or not, and errors."""

import functools
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from tableveil.cli.output import Output
from tableveil.client import DEFAULT_ADDRESS, Client

_FILE = click.Path(path_type=Path, dir_okay=False)

LIMIT = click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="How many at most.")


@dataclass(frozen=True, slots=True)
class CommandSession:
    """The tools of a command; the server is `alone` with it if it ends with it, and works on a file if it has one."""

    client: Client
    output: Output
    alone: bool = False
    on_file: Path | None = None


def _database(exists: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        "--database",
        "on_file",
        type=click.Path(exists=exists, path_type=Path, dir_okay=False),
        help="Without a server: work on this DuckDB file, which nobody else may have open.",
    )


DATABASE, DATABASE_OR_NEW = _database(exists=True), _database(exists=False)
"""Let a verb work on a file: by the same calls, on a server that lives as long as the command."""


ONCE = click.option(
    "--request-id",
    "once",
    default="",
    metavar="ID",
    help="A name for the change: asked for again, it is not made twice.",
)
"""Lets a verb name its changes."""


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """Turns a function of a session, and of its own options, into one of its options alone."""

    @click.option(
        "--server",
        default=DEFAULT_ADDRESS,
        envvar="TABLEVEIL_SERVER",
        show_default=True,
        show_envvar=True,
        metavar="ADDRESS",
        help="Where the server listens.",
    )
    @click.option(
        "--token-file",
        type=_FILE,
        help="The file with your token; or set TABLEVEIL_TOKEN or TABLEVEIL_TOKEN_FILE. By default the one that a "
        "server left here, beside its database.",
    )
    @click.option("--ca-certificate", type=_FILE, help="Speak TLS: the authorities of the server's certificate.")
    @click.option("--client-certificate", type=_FILE, help="Your certificate, for a server that needs one.")
    @click.option("--client-key", type=_FILE, help="Its key.")
    @click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, with the field names of the protos.")
    @functools.wraps(function)
    def run(
        server: str,
        token_file: Path | None,
        ca_certificate: Path | None,
        client_certificate: Path | None,
        client_key: Path | None,
        as_json: bool,
        **options: object,
    ) -> None:
        output = Output(as_json)
        database, on_file = options.get("database"), options.pop("on_file", None)
        once = str(options.pop("once", ""))
        with output.reporting(), ExitStack() as opened:
            if isinstance(on_file, Path):
                given = click.get_current_context().get_parameter_source("server")
                if given is ParameterSource.COMMANDLINE:
                    raise click.UsageError("name a --server, or the --database")
                from tableveil.cli.own_server import client_of_own_server

                client = opened.enter_context(client_of_own_server(on_file))
            else:
                connection = Client(
                    server,
                    token_file=token_file,
                    database=database if isinstance(database, Path) else None,
                    ca_certificate=ca_certificate,
                    client_certificate=client_certificate,
                    client_key=client_key,
                )
                client = opened.enter_context(connection)
            path = on_file if isinstance(on_file, Path) else None
            opened.enter_context(client.once(once))
            function(CommandSession(client, output, alone=path is not None, on_file=path), **options)

    return run
