"""The command `endpoint`."""

import click

from tableveil.cli.configuration import CONFIG
from tableveil.cli.grouped import grouped
from tableveil.cli.loading import loading
from tableveil.cli.output import Output
from tableveil.endpoint.settings import EndpointSettings


@click.command()
@CONFIG
@grouped(EndpointSettings, "settings")
def endpoint(settings: EndpointSettings) -> None:
    """Let analysts query published releases by Arrow Flight SQL, until Ctrl-C or SIGTERM.

    It never opens the database. Any number of endpoints may serve one directory.
    """
    with loading():
        from tableveil.endpoint.endpoint import run_endpoint

    with Output().reporting():
        run_endpoint(settings)
