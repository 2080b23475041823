"""The common part of all commands that talk to a server: its address, JSON or not, and errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from tableveil.cli.output import Output
from tableveil.client import DEFAULT_ADDRESS, Client

_FILE = click.Path(path_type=Path, dir_okay=False)

LIMIT = click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="How many at most.")


@dataclass(frozen=True, slots=True)
class Session:
    """The tools of a command."""

    client: Client
    output: Output


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
        database = options.get("database")
        with (
            output.reporting(),
            Client(
                server,
                token_file=token_file,
                database=database if isinstance(database, Path) else None,
                ca_certificate=ca_certificate,
                client_certificate=client_certificate,
                client_key=client_key,
            ) as client,
        ):
            function(Session(client, output), **options)

    return run
