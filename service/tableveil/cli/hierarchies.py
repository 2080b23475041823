"""The commands below `hierarchies`: list, show, compare, import, forget and preview."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TextIO

import click

from tableveil import wording
from tableveil.cli.files import NewFile, new_file
from tableveil.cli.grouped import grouped
from tableveil.cli.hierarchy_tables import comparison_table, preview_table, reference
from tableveil.cli.output import as_dict
from tableveil.cli.policy_file import PolicyFile
from tableveil.cli.request_options import option, request_option, request_options
from tableveil.cli.source_query import SCHEMA
from tableveil.cli.tables import listing
from tableveil.cli.verb import ONCE, CommandSession, verb
from tableveil.client.names import source_reference
from tableveil.errors import InvalidError, nearest, shortened
from tableveil.serving.setting import Setting
from tableveil.v1 import hierarchy_service_pb2 as v1
from tableveil.v1 import policy_pb2

_VERSION = re.compile(r"(?P<name>.*)@(?P<version>-?[0-9]{1,9})", re.DOTALL)


class _ListByDefault(click.Group):
    """Lists if no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in self.get_help_option_names(ctx)):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def _stored(ctx: click.Context, param: click.Parameter, value: str | None) -> policy_pb2.StoredHierarchy | None:
    """`zip@2` as version 2 of zip, `zip` as the newest."""
    if value is None:
        return None
    match = _VERSION.fullmatch(value)
    if match is None:
        return policy_pb2.StoredHierarchy(name=value)
    return policy_pb2.StoredHierarchy(name=match["name"], version=int(match["version"]))


_PREVIEW = request_options(
    v1.PreviewHierarchyRequest, "asked", option("groups", type=click.IntRange(1, 1000)), "values"
)


@click.group(cls=_ListByDefault)
def hierarchies() -> None:
    """Look at hierarchies, store them, and list what is stored.

    Without a command, list them.
    """


@hierarchies.command(name="list")
@verb
def list_hierarchies(session: CommandSession) -> None:
    """List all stored versions, by name."""
    output = session.output
    entries = list(session.client.list_hierarchies())
    rows = [
        (
            wording.short(info.name),
            wording.count(info.version),
            wording.count(info.levels),
            wording.count(info.values),
            wording.moment(info.create_time),
            wording.short(info.origin),
        )
        for info in entries
    ]
    columns = ("name", "version", "levels", "values", "created", "from")
    output.answer(
        v1.ListHierarchiesResponse(hierarchies=entries),
        listing(columns, rows, "No hierarchies stored yet.", numbers=("version", "levels", "values")),
    )


@hierarchies.command()
@click.argument("stored", metavar="NAME[@VERSION]", callback=_stored)
@new_file("csv", "Write its rows to a CSV file.")
@_PREVIEW
@verb
def show(
    session: CommandSession, stored: policy_pb2.StoredHierarchy, csv: NewFile | None, asked: v1.PreviewHierarchyRequest
) -> None:
    """Show the levels of a stored hierarchy.

    It is the newest version if none is named. With --csv its rows go to a file.
    """
    if csv is not None:
        _write_csv(session, stored, csv)
        return
    asked.hierarchy.stored.CopyFrom(stored)
    answer = session.client.preview_hierarchy(asked)
    session.output.answer(answer, preview_table(answer, ""))


def _write_csv(session: CommandSession, stored: policy_pb2.StoredHierarchy, target: NewFile) -> None:
    """As ARX reads them: semicolons, no header."""
    target.require_free()
    count = 0
    with target.whole() as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\n")
        for row in session.client.read_hierarchy(stored):
            writer.writerow(row)
            count += 1
    session.output.answer(
        {"path": str(target.path), "values": count},
        f"{wording.count(count)} values written to {wording.printable(str(target.path))}.",
    )


@hierarchies.command()
@click.argument("earlier", metavar="NAME@VERSION", callback=_stored)
@click.argument("later", metavar="NAME@VERSION", callback=_stored)
@request_option(v1.CompareHierarchiesRequest, "examples", type=click.IntRange(0, 1000), default=0, metavar="COUNT")
@verb
def compare(
    session: CommandSession, earlier: policy_pb2.StoredHierarchy, later: policy_pb2.StoredHierarchy, examples: int
) -> None:
    """Tell what differs between two versions.

    Values added and removed, and per level the values with another label, the labels that are new and those gone.
    """
    comparison = session.client.compare_hierarchies(earlier, later, examples)
    session.output.answer(comparison, comparison_table(comparison))


@hierarchies.command(name="import")
@click.argument("name")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--delimiter", default="", metavar="CHARACTER", help="Default: `;`, tab or `,`, whichever separates rows."
)
@click.option("--encoding", default="", help="Default: UTF-8, or UTF-16 with a byte order mark.")
@ONCE
@verb
def import_hierarchy(session: CommandSession, name: str, path: Path, delimiter: str, encoding: str) -> None:
    """Store a CSV file as the next version of NAME.

    Files of ARX import as they are: a row is a value and its labels up to the top, without a header. Rows that are
    stored already keep their version.
    """
    # It loads numpy, which no other command here needs.
    from tableveil.client.csv_rows import read_csv_rows

    file, faults = read_csv_rows(path, "file", delimiter, encoding)
    if file is None:
        raise InvalidError.about("HIERARCHY_INVALID", "the hierarchy is invalid", faults)
    info = session.client.create_hierarchy(name, file.rows, path.name)
    rows = f"{wording.count(info.values)} values of {wording.count(info.levels)} levels"
    session.output.answer(
        {"hierarchy": as_dict(info), "delimiter": file.delimiter},
        f"{reference(info)}: {rows}, columns separated by {file.delimiter!r}.",
    )


@hierarchies.command()
@click.argument("version", metavar="NAME@VERSION")
@click.option(
    "--values",
    "file",
    required=True,
    type=click.File(encoding="utf-8"),
    metavar="FILE|-",
    help="A value of level 0 a line; - reads stdin.",
)
@ONCE
@verb
def forget(session: CommandSession, version: str, file: TextIO) -> None:
    """Take the rows of values out of a stored version.

    They are those that only erased people had, as `tableveil erase` tells. Releases that used the version stay as they
    are.
    """
    with file:
        values = [line.rstrip("\r\n") for line in file if line.strip()]
    answer = session.client.forget_hierarchy_rows(version, values)
    removed, before = answer.removed_rows, answer.removed_rows + answer.hierarchy.values
    session.output.answer(
        answer, f"{reference(answer.hierarchy)}: {wording.count(removed)} of {wording.count(before)} values removed."
    )


@dataclass(frozen=True, slots=True)
class _Previewed:
    """The hierarchy that is looked at."""

    policy: Annotated[
        Path | None,
        click.option(
            "--policy", type=click.Path(path_type=Path), metavar="FILE", help="The column's hierarchy in a policy."
        ),
    ]
    path: Annotated[
        Path | None,
        click.option(
            "--hierarchy", "path", type=click.Path(path_type=Path), metavar="FILE", help="A hierarchy in a CSV file."
        ),
    ]
    stored: Annotated[
        policy_pb2.StoredHierarchy | None,
        click.option(
            "--stored", callback=_stored, metavar="NAME[@VERSION]", help="A hierarchy that is stored on the server."
        ),
    ]
    alone: Annotated[bool, Setting("Look at the hierarchy of a policy's COLUMN without a table.")] = False


@hierarchies.command()
@click.argument("place", metavar="[TABLE] [COLUMN]", nargs=-1)
@SCHEMA
@grouped(_Previewed, "which")
@_PREVIEW
@verb
def preview(
    session: CommandSession,
    place: tuple[str, ...],
    schema: str | None,
    which: _Previewed,
    asked: v1.PreviewHierarchyRequest,
) -> None:
    """Look at a hierarchy before it is used.

    The groups of each level are shown, and how much of a column is not covered. Say which hierarchy by --policy,
    --hierarchy or --stored. With a policy, COLUMN alone is one of its own source. Without TABLE and COLUMN, the levels
    are shown by themselves. Nothing is stored. For the owner of the table only.
    """
    policy = which.policy
    if sum(given is not None for given in (policy, which.path, which.stored)) != 1:
        raise click.UsageError("say which hierarchy: one of --policy, --hierarchy and --stored")
    if len(place) not in ((1, 2) if policy is not None else (0, 2)):
        raise click.UsageError("name a TABLE and its COLUMN" + ("; or only a COLUMN of the policy" if policy else ""))
    if which.alone and (policy is None or len(place) == 2):
        raise click.UsageError("--alone is for a COLUMN of a policy, without a TABLE")
    if not which.alone and place:
        asked.column = place[-1]
    if len(place) == 2:
        asked.table.CopyFrom(source_reference(place[0], schema))
    directory = Path()
    if policy is not None:
        message = PolicyFile(policy).sound()
        directory = policy.parent
        asked.hierarchy.CopyFrom(_hierarchy_of(message, place[-1]))
        if len(place) == 1 and not which.alone:
            if message.source_query:
                raise click.UsageError("the policy's source is a query: name a TABLE too, or look at it --alone")
            asked.table.CopyFrom(message.source)
    elif which.path is not None:
        asked.hierarchy.csv.path = str(which.path)
    elif which.stored is not None:
        asked.hierarchy.stored.CopyFrom(which.stored)
    answer = session.client.preview_hierarchy(asked, directory)
    column = f"{wording.table_name(asked.table)}.{wording.short(asked.column)}" if asked.column else ""
    session.output.answer(answer, preview_table(answer, column))


def _hierarchy_of(policy: policy_pb2.Policy, column: str) -> policy_pb2.Hierarchy:
    with_hierarchy = {
        attribute.column: attribute.hierarchy for attribute in policy.attributes if attribute.HasField("hierarchy")
    }
    if column not in with_hierarchy:
        hint = nearest(column, with_hierarchy)
        expected = "a column of the policy that has a hierarchy"
        raise InvalidError.of("COLUMN_NOT_FOUND", "column", shortened(column), expected, hint)
    return with_hierarchy[column]
