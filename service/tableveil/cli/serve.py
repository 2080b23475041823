"""The command `serve`."""

import sys

import click

from tableveil.cli.configuration import CONFIG
from tableveil.cli.grouped import grouped
from tableveil.cli.loading import loading
from tableveil.cli.output import Output
from tableveil.serving.settings import ServeSettings


@click.command()
@CONFIG
@grouped(ServeSettings, "settings")
def serve(settings: ServeSettings) -> None:
    """Run the service until Ctrl-C or SIGTERM."""
    # The server loads the whole of Tableveil; the help need not wait for it.
    with loading():
        from tableveil.server import run_server

    with Output().reporting():
        sys.exit(run_server(settings))
