"""The command `hierarchies`."""

from __future__ import annotations

import click

from tableveil.cli import wording
from tableveil.cli.tables import listing
from tableveil.cli.verb import Session, verb
from tableveil.v1 import hierarchy_service_pb2


@click.command()
@verb
def hierarchies(session: Session) -> None:
    """List the hierarchies stored on the server, by name."""
    output = session.output
    found = list(session.client.list_hierarchies())
    if output.as_json:
        output.json(hierarchy_service_pb2.ListHierarchiesResponse(hierarchies=found))
        return
    rows = [
        (
            wording.short(info.name),
            wording.count(info.version),
            wording.count(info.levels),
            wording.count(info.values),
            wording.moment(info.create_time),
        )
        for info in found
    ]
    columns = ("name", "version", "levels", "values", "created")
    output.show(listing(columns, rows, "No hierarchies stored yet.", numbers=("version", "levels", "values")))
