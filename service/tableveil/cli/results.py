"""The command `results`: lists of what jobs found out."""

from importlib import import_module
from itertools import islice
from typing import Any

import click

from tableveil import wording
from tableveil.cli.commands import SHOWN
from tableveil.cli.output import as_dict
from tableveil.cli.tables import listing
from tableveil.cli.verb import LIMIT, CommandSession, verb
from tableveil.client.names import LOADS

KINDS = [kind for kind in SHOWN if kind != LOADS]
"""The collections of results. Releases have a command of their own."""


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@LIMIT
@verb
def results(session: CommandSession, kind: str, limit: int) -> None:
    """List what jobs of a kind found out, newest first.

    See each with `tableveil show`.
    """
    result_kind = import_module(f"tableveil.cli.{SHOWN[kind]}").RESULT
    entries = list(islice(session.client.list_results(result_kind), limit))
    rows = [(result.name, result.job, _subject(result), wording.moment(result.create_time)) for result in entries]
    session.output.answer(
        {"results": [as_dict(result) for result in entries]},
        listing(("result", "job", "about", "created"), rows, f"No {kind} yet."),
    )


def _subject(result: Any) -> str:
    """A release, or a table."""
    release = getattr(result, "release", "")
    if isinstance(release, str) and release:
        return release
    return wording.table_name((release or result).source)
