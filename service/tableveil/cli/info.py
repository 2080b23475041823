"""The command `info`: the server's version and limits, and the caller as the server knows it."""

import click

from tableveil import wording
from tableveil.cli.tables import facts
from tableveil.cli.verb import CommandSession, verb


@click.command()
@verb
def info(session: CommandSession) -> None:
    """Show the server's version and limits, and whom it takes you for."""
    server_info = session.client.get_server_info()
    rows = [
        ("you are", wording.printable(server_info.principal)),
        (
            "version",
            f"{wording.printable(server_info.version)}, on DuckDB {wording.printable(server_info.database_version)}",
        ),
        ("warehouses", ", ".join(map(wording.printable, server_info.warehouses)) or "none"),
        ("largest message", f"{wording.count(server_info.largest_message_bytes)} bytes"),
        ("largest page", f"{wording.count(server_info.largest_page_size)} items"),
        ("idle streams end after", wording.duration(server_info.stream_idle)),
    ]
    session.output.answer({"server_info": server_info}, facts(rows))
