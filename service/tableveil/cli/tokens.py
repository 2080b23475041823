"""The command `tokens`: creating, listing, revoking and confirming them."""

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from itertools import islice
from pathlib import Path

import click

from tableveil import wording
from tableveil.cli.request_options import request_option
from tableveil.cli.tables import listing
from tableveil.cli.verb import LIMIT, ONCE, CommandSession, verb
from tableveil.errors import ConflictError
from tableveil.v1 import access_service_pb2 as v1
from tableveil.v1.access_pb2 import AccessRole
from tableveil.wording.access import ROLES, TOKEN_COLUMNS, token_row


@click.group()
def tokens() -> None:
    """Give callers tokens, and take them back."""


@tokens.command()
@click.argument("principal")
@request_option(v1.CreateTokenRequest, "label", required=False, default="token", show_default=True)
@request_option(v1.CreateTokenRequest, "roles", "--role")
@click.option("--days", type=click.IntRange(1, 366), default=90, show_default=True, help="How long it is valid.")
@click.option(
    "--database",
    type=click.Path(exists=True, path_type=Path, dir_okay=False),
    help="The database of a server that is stopped: for when no admin has a token. Without --role, it has all roles.",
)
@ONCE
@verb
def create(
    session: CommandSession,
    principal: str,
    label: str,
    role: list[AccessRole.ValueType],
    days: int,
    database: Path | None,
) -> None:
    """Make a token for PRINCIPAL, a person or a program, and write it to stdout.

    This is the only time that it is shown.
    """
    lifetime = timedelta(days=days)
    if database is None:
        made = session.client.create_token(principal, label, role, lifetime)
    else:
        roles = [word.upper() for word, number in ROLES.items() if number in role or not role]
        made = _created_in(database, principal, label, roles, lifetime)
    if session.output.as_json:
        session.output.json({"token": made})
        return
    if not made.secret:
        actual = f"{made.name}, which this request made before; the server keeps a hash of its text"
        hint = f"Revoke it (tableveil tokens revoke {made.name}), and make another by another request id."
        raise ConflictError.of("TOKEN_TOLD", "request_id", actual, "a request id of its own for every token", hint)
    until = wording.moment(made.expire_time)
    session.output.tell(f"{made.name} of {wording.printable(principal)} is valid until {until}; it is shown only now.")
    click.echo(made.secret)


@tokens.command(name="list")
@LIMIT
@verb
def list_tokens(session: CommandSession, limit: int) -> None:
    """List tokens, newest first."""
    entries = list(islice(session.client.list_tokens(), limit))
    session.output.answer(
        v1.ListTokensResponse(tokens=entries),
        listing(TOKEN_COLUMNS, [token_row(token) for token in entries], "No tokens."),
    )


@tokens.command()
@click.argument("token", nargs=-1, required=True)
@verb
def revoke(session: CommandSession, token: Sequence[str]) -> None:
    """Refuse calls with these tokens from now on; their open streams end within seconds."""
    _change(session, token, session.client.revoke_token, "revoked")


@tokens.command()
@click.argument("token", nargs=-1, required=True)
@verb
def confirm(session: CommandSession, token: Sequence[str]) -> None:
    """Accept tokens again that a restore suspended; look first whether one was revoked since the backup."""
    _change(session, token, session.client.confirm_token, "confirmed")


def _change(session: CommandSession, names: Sequence[str], change: Callable[[str], v1.Token], done: str) -> None:
    for name in names:
        token = change(name)
        session.output.answer({"token": token}, f"{token.name} of {wording.printable(token.principal)} is {done}.")


def _created_in(database: Path, principal: str, label: str, roles: Sequence[str], lifetime: timedelta) -> v1.Token:
    # DuckDB takes longer to load than most commands take.
    from tableveil.backend import Database, Settings
    from tableveil.convert.grants import token_to_proto
    from tableveil.identity.tokens import Tokens
    from tableveil.state.lineage import notice_older_ledger
    from tableveil.state.migrate import migrate

    with closing(Database(Settings(database))) as opened:
        with opened.ledger() as ledger:
            migrate(ledger)
            # Otherwise the next start would suspend this token with those that a restore brought back.
            notice_older_ledger(opened.path, ledger)
        with closing(Tokens(opened)) as tokens_of:
            token, secret = tokens_of.create(principal, label, roles, lifetime, without_call="tokens create")
    return token_to_proto(token, secret)
