"""The command `grants`: adding, listing and removing them, and confirming those of a restored backup."""

from collections.abc import Sequence
from itertools import islice

import click

from tableveil.cli.request_options import option, request_options
from tableveil.cli.tables import listing
from tableveil.cli.verb import LIMIT, ONCE, CommandSession, verb
from tableveil.v1 import access_service_pb2 as v1
from tableveil.wording.access import GRANT_COLUMNS, ROLES, grant_in_words, grant_row


@click.group()
def grants() -> None:
    """Give principals and groups roles, and take them back."""


@grants.command()
@click.argument("role", type=click.Choice([*ROLES]))
@request_options(v1.GrantRule, "rule", "principal", "group", "schema", "table", option("release", metavar="RELEASE"))
@ONCE
@verb
def add(session: CommandSession, role: str, rule: v1.GrantRule) -> None:
    """Give ROLE to a principal or to a group."""
    if rule.WhichOneof("grantee") is None:
        raise click.UsageError("Name either --principal or --group.")
    rule.role = ROLES[role]
    made = session.client.add_grant(rule)
    session.output.answer({"grant": made}, f"{made.name}: {grant_in_words(rule)}.")


@grants.command(name="list")
@LIMIT
@verb
def list_grants(session: CommandSession, limit: int) -> None:
    """List the grants on what you administer, newest first."""
    entries = list(islice(session.client.list_grants(), limit))
    if session.output.as_json:
        session.output.json(v1.ListGrantsResponse(grants=entries))
        return
    session.output.show(listing(GRANT_COLUMNS, [grant_row(grant) for grant in entries], "No grants."))


@grants.command()
@click.argument("grant", nargs=-1, required=True)
@verb
def remove(session: CommandSession, grant: Sequence[str]) -> None:
    """Take grants back, from the next call on."""
    for name in grant:
        session.client.remove_grant(name)
        session.output.tell(f"{name} is removed.")


@grants.command()
@click.argument("name", nargs=-1)
@verb
def confirm(session: CommandSession, name: Sequence[str]) -> None:
    """Let grants and releases count again that a restore suspended: grants/3, releases/7.

    Without a NAME, only list those that wait. Look first whether one was revoked since the backup.
    """
    waiting = session.client.confirm_restored(name)
    session.output.answer(v1.ConfirmRestoredResponse(suspended=waiting), "\n".join(waiting) or "Nothing waits.")
