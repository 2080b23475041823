"""The command `worksheets`: decisions about tables that are not released yet, as the console keeps them."""

from itertools import islice

import click

from tableveil import wording
from tableveil.cli.tables import listing
from tableveil.cli.verb import LIMIT, CommandSession, verb
from tableveil.document import to_yaml
from tableveil.v1 import worksheet_service_pb2 as v1


@click.group()
def worksheets() -> None:
    """Look at worksheets, which the console keeps for tables that are not released yet."""


@worksheets.command(name="list")
@LIMIT
@verb
def list_worksheets(session: CommandSession, limit: int) -> None:
    """List the worksheets of your tables, newest first."""
    kept = list(islice(session.client.list_worksheets(), limit))
    rows = [
        (
            one.name,
            wording.table_name(one.table),
            one.proposal,
            one.job,
            wording.short(one.updated_by),
            wording.moment(one.update_time),
        )
        for one in kept
    ]
    session.output.answer(
        v1.ListWorksheetsResponse(worksheets=kept),
        listing(("worksheet", "table", "proposal", "job", "by", "changed"), rows, "No worksheets."),
    )


@worksheets.command()
@click.argument("worksheet")
@verb
def policy(session: CommandSession, worksheet: str) -> None:
    """Write the policy of WORKSHEET as a document to submit."""
    kept = session.client.get_worksheet(worksheet)
    if session.output.as_json:
        session.output.json({"worksheet": kept})
    elif kept.HasField("policy"):
        click.echo(to_yaml(kept.policy), nl=False)
    else:
        session.output.show(f"{kept.name} has no policy yet.")


@worksheets.command()
@click.argument("worksheet")
@verb
def delete(session: CommandSession, worksheet: str) -> None:
    """Delete WORKSHEET, whatever it has by now."""
    session.client.delete_worksheet(worksheet)
    session.output.answer({}, "The worksheet is gone.")
