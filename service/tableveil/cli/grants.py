"""The command `grants`: adding, listing and removing them, and confirming those of a restored backup."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import click

from tableveil import wording
from tableveil.cli.tables import listing
from tableveil.cli.verb import LIMIT, CommandSession, verb
from tableveil.v1 import access_pb2
from tableveil.v1 import access_service_pb2 as v1

_ROLES = {wording.enum_word(name, "ACCESS_ROLE_"): number for name, number in access_pb2.AccessRole.items() if number}
_WORDS = {number: word for word, number in _ROLES.items()}


@click.group()
def grants() -> None:
    """Give principals and groups roles, and take them back."""


@grants.command()
@click.argument("role", type=click.Choice([*_ROLES]))
@click.option("--principal", default="", help="A person or a program, by its name.")
@click.option("--group", default="", help="A group, as the provider of identities has it.")
@click.option("--schema", default="", help="Only on this schema; without it, on the whole server.")
@click.option("--table", default="", help="Only on this table of the schema.")
@click.option("--release", default="", metavar="RELEASE", help="Only on this release, such as releases/7.")
@verb
def add(session: CommandSession, role: str, principal: str, group: str, schema: str, table: str, release: str) -> None:
    """Give ROLE to a principal or to a group."""
    if bool(principal) == bool(group):
        raise click.UsageError("Name either --principal or --group.")
    rule = v1.GrantRule(role=_ROLES[role], schema=schema, table=table, release=release)
    if group:
        rule.group = group
    else:
        rule.principal = principal
    made = session.client.add_grant(rule)
    if session.output.as_json:
        session.output.json({"grant": made})
    else:
        session.output.show(f"{made.name}: {in_words(rule)}.")


@grants.command(name="list")
@LIMIT
@verb
def list_grants(session: CommandSession, limit: int) -> None:
    """List the grants on what you administer, newest first."""
    entries = list(islice(session.client.list_grants(), limit))
    if session.output.as_json:
        session.output.json(v1.ListGrantsResponse(grants=entries))
        return
    columns = ("grant", "of", "role", "on", "by", "created", "state")
    session.output.show(listing(columns, [_row(grant) for grant in entries], "No grants."))


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
    if session.output.as_json:
        session.output.json(v1.ConfirmRestoredResponse(suspended=waiting))
    else:
        session.output.show("\n".join(waiting) or "Nothing waits.")


def in_words(rule: v1.GrantRule) -> str:
    """The rule as a sentence: somebody is something of a table."""
    return f"{_grantee(rule)} is {_WORDS[rule.role]} of {_scope(rule)}"


def _row(grant: v1.Grant) -> tuple[str, ...]:
    rule = grant.rule
    by = wording.printable(grant.granted_by)
    created = wording.moment(grant.create_time)
    return grant.name, _grantee(rule), _WORDS[rule.role], _scope(rule), by, created, "suspended" * grant.suspended


def _grantee(rule: v1.GrantRule) -> str:
    return f"group {wording.printable(rule.group)}" if rule.group else wording.printable(rule.principal)


def _scope(rule: v1.GrantRule) -> str:
    if rule.release:
        return rule.release
    return wording.printable(".".join(filter(None, (rule.schema, rule.table)))) or "the server"
