"""The commands that take rows out of tables: `truncate`, `drop` and `erase`."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TextIO

import click

from tableveil import wording
from tableveil.cli.interruptible import interruptible
from tableveil.cli.request_options import request_option
from tableveil.cli.source_query import SCHEMA
from tableveil.cli.table_names import named_table
from tableveil.cli.tables import facts
from tableveil.cli.verb import DATABASE, ONCE, CommandSession, verb
from tableveil.v1 import table_service_pb2 as v1


@click.command()
@click.argument("table")
@SCHEMA
@DATABASE
@ONCE
@verb
def truncate(session: CommandSession, table: str, schema: str | None) -> None:
    """Remove all rows of a table, which stays; the ledger keeps what was released of them."""
    place, client = named_table(table, schema), session.client
    removed = interruptible(client, lambda: client.truncate_table(place))
    session.output.answer(
        v1.TruncateTableResponse(removed_rows=removed),
        f"{wording.count(removed)} {'row' if removed == 1 else 'rows'} removed.",
    )


@click.command()
@click.argument("table")
@SCHEMA
@DATABASE
@ONCE
@verb
def drop(session: CommandSession, table: str, schema: str | None) -> None:
    """Remove a table with its rows; the ledger keeps what was released of them."""
    place, client = named_table(table, schema), session.client
    removed = interruptible(client, lambda: client.drop_table(place))
    session.output.answer(
        v1.DropTableResponse(removed_rows=removed),
        f"{wording.table_name(place)} is dropped, with {wording.count(removed)} rows.",
    )


@click.command()
@click.argument("table")
@click.option(
    "--persons",
    required=True,
    type=click.File(encoding="utf-8"),
    metavar="FILE|-",
    help="A person a line, as the table shows them; - reads stdin.",
)
@request_option(v1.ErasePersonsRequest, "person_column", default="")
@SCHEMA
@DATABASE
@ONCE
@verb
def erase(session: CommandSession, table: str, persons: TextIO, person_column: str, schema: str | None) -> None:
    """Remove people's rows, also from what the ledger keeps to recognize people, and tell which releases hold them.

    Nothing is changed in releases: withdraw them, or make them anew without these people.
    """
    place, client = named_table(table, schema), session.client
    with persons:
        named = [line.rstrip("\r\n") for line in persons if line.strip()]
    erased = interruptible(client, lambda: client.erase_persons(place, named, person_column))
    lines = [
        ("rows removed", wording.count(erased.removed_rows)),
        ("persons without rows", wording.count(erased.absent_persons)),
        ("released in", _names(erased.releases)),
    ]
    if erased.untold_releases:
        lines.append(("not known of", _names(erased.untold_releases)))
    if erased.hidden_releases:
        lines.append(("note", "there are releases of this table that you may not see"))
    if erased.deleted_worksheets:
        lines.append(("worksheets deleted", wording.count(erased.deleted_worksheets)))
    for way, places in _by_way(erased.places).items():
        lines.append(("values of theirs alone", f"{', '.join(places)}: {way}"))
    session.output.answer(erased, facts(lines))


def _by_way(places: Iterable[str]) -> Mapping[str, list[str]]:
    """Where values of the erased people alone still stand, by the command that reaches it."""
    ways: defaultdict[str, list[str]] = defaultdict(list)
    for place in places:
        match place.partition("/")[0]:
            case "jobs":
                way = "tableveil delete"
            case "worksheets":
                way = "tableveil worksheets delete"
            case "tables":
                way = "rows of theirs, for tableveil erase"
            case "hierarchies":
                way = "tableveil hierarchies forget"
            case "releases":
                way = "tableveil withdraw, which keeps the policy as evidence"
            case _:
                way = "ALTER TABLE … SET PRIVACY, which deletes this version"
        ways[way].append(place)
    return ways


def _names(releases: Iterable[v1.HoldingRelease]) -> str:
    shown = (f"{release.name}{'' if release.current else ' (not current)'}" for release in releases)
    return ", ".join(shown) or "no release"
