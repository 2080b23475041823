"""The commands `audit verify` and `audit show`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tableveil.cli import wording
from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.output import Output


@click.group()
def audit() -> None:
    """The record of calls: prove that it is whole, and look into it."""


@audit.command("verify")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--head", default="", metavar="HASH", help="The hash of an entry that you kept: it must be there.")
@click.option("--after", metavar="HASH", help="Where FILES begin, if the files before them are not kept any more.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout.")
def verify_files(files: tuple[Path, ...], head: str, after: str | None, as_json: bool) -> None:
    """Check that no entry of FILES was changed, added or removed; several files in the order of their entries.

    Ends with 1 if one was. A server may go on writing meanwhile. Entries that were cut off at the end, and a chain that
    was computed anew, show only with --head.
    """
    # DuckDB takes longer to load than most commands take.
    from tableveil.audit import verify

    output = Output(as_json)
    with output.reporting():
        found = verify(files, head, after)
        if as_json:
            output.json({"entries": found.entries, "head": found.head, "faults": list(found.faults)})
        else:
            for fault in found.faults:
                output.show(wording.printable(fault))
            output.show(f"{wording.count(found.entries)} entries; the last has the hash {found.head}.")
            if not head:
                output.tell("Keep that hash elsewhere: with --head it proves later that nothing was cut off until now.")
    if found.faults:
        sys.exit(ExitCode.FAILED)
