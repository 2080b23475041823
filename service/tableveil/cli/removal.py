"""The commands that take rows out of tables: `truncate` and `drop`."""

from __future__ import annotations

import click

from tableveil.cli import wording
from tableveil.cli.interruptible import interruptible
from tableveil.cli.table_names import named_table
from tableveil.cli.verb import DATABASE, Session, verb
from tableveil.v1 import table_service_pb2 as v1

_SCHEMA = click.option("--schema", help="The table's schema. TABLE is then its name as it is, with all dots in it.")


@click.command()
@click.argument("table")
@_SCHEMA
@DATABASE
@verb
def truncate(session: Session, table: str, schema: str | None) -> None:
    """Remove all rows of a table, which stays; the ledger keeps what was released of them."""
    place, client = named_table(table, schema), session.client
    removed = interruptible(client, lambda: client.truncate_table(place))
    if session.output.as_json:
        session.output.json(v1.TruncateTableResponse(removed_rows=removed))
    else:
        session.output.show(f"{wording.count(removed)} rows removed.")


@click.command()
@click.argument("table")
@_SCHEMA
@DATABASE
@verb
def drop(session: Session, table: str, schema: str | None) -> None:
    """Remove a table with its rows; the ledger keeps what was released of them."""
    place, client = named_table(table, schema), session.client
    removed = interruptible(client, lambda: client.drop_table(place))
    if session.output.as_json:
        session.output.json(v1.DropTableResponse(removed_rows=removed))
    else:
        session.output.show(f"{wording.table_name(place)} is dropped, with {wording.count(removed)} rows.")
