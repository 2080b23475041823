"""The commands `audit verify` and `audit show`."""

from __future__ import annotations

import sys
from collections import deque
from datetime import UTC
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tableveil import wording
from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.request_options import option, request_option, request_options
from tableveil.cli.tables import listing
from tableveil.cli.verb import LIMIT, CommandSession, verb
from tableveil.v1 import audit_service_pb2 as v1

if TYPE_CHECKING:
    from tableveil.audit.verify import Verified


@click.group()
def audit() -> None:
    """The record of calls: prove that it is whole, and look into it."""


@audit.command("verify")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@request_option(v1.VerifyAuditRequest, "head", default="", metavar="HASH")
@request_option(v1.VerifyAuditRequest, "after", metavar="HASH")
@verb
def verify_files(session: CommandSession, files: tuple[Path, ...], head: str, after: str | None) -> None:
    """Check that no entry of FILES was changed, added or removed; several files in the order of their entries.

    Without FILES the server checks its own, which proves nothing against those who run it. Ends with 1 if an entry was
    changed. A server may go on writing meanwhile. Entries that were cut off at the end, and a chain that was computed
    anew, show only with --head.
    """
    output, result = session.output, _verified(session, files, head, after)
    if output.as_json:
        output.json({"entries": result.entries, "head": result.head, "faults": list(result.faults)})
    else:
        for fault in result.faults:
            output.show(wording.printable(fault))
        output.show(f"{wording.count(result.entries)} entries; the last has the hash {result.head}.")
        if not head:
            output.tell("Keep that hash elsewhere: with --head it proves later that nothing was cut off until now.")
    if result.faults:
        sys.exit(ExitCode.FAILED)


def _verified(
    session: CommandSession, files: tuple[Path, ...], head: str, after: str | None
) -> v1.VerifyAuditResponse | Verified:
    if not files:
        return session.client.verify_audit(head, after or "")
    # DuckDB takes longer to load than most commands take.
    from tableveil.audit import verify

    return verify(files, head, after)


@audit.command()
@click.option(
    "--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Ask this file, not a server."
)
@request_options(
    v1.ListAuditEntriesRequest,
    "wanted",
    "principal",
    "method",
    "code",
    option(
        "since",
        note="In UTC.",
        type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
        callback=lambda _, __, at: at and at.replace(tzinfo=UTC),
    ),
)
@LIMIT
@verb
def show(session: CommandSession, file: Path | None, wanted: v1.ListAuditEntriesRequest, limit: int) -> None:
    """Show entries, newest first. It takes the role auditor, or the file."""
    if file is not None:
        entries = _in_file(file, wanted, limit)
    else:
        since = wanted.since.ToDatetime(UTC) if wanted.HasField("since") else None
        asked = session.client.list_audit_entries(wanted.principal, wanted.method, wanted.code, since)
        entries = list(islice(asked, limit))
    if session.output.as_json:
        session.output.json(v1.ListAuditEntriesResponse(entries=entries))
        return
    columns = ("number", "time", "event", "principal", "method", "about", "outcome", "from")
    session.output.show(listing(columns, list(map(_row, entries)), "No entries."))


def _in_file(file: Path, wanted: v1.ListAuditEntriesRequest, limit: int) -> list[v1.AuditEntry]:
    """The last wanted entries of a file, newest first; lines that are no entries are for `verify`."""
    from tableveil.audit.entry import read_entries
    from tableveil.convert.audit import audit_entry_to_proto
    from tableveil.state.audit_entries import AuditFilter

    since = wanted.since.ToDatetime() if wanted.HasField("since") else None
    audited = AuditFilter(wanted.principal, wanted.method, wanted.code, since)
    last = deque(filter(audited.wants, read_entries(file)), limit)
    return list(map(audit_entry_to_proto, reversed(last)))


def _row(entry: v1.AuditEntry) -> tuple[str, ...]:
    about = [*entry.resources, *([entry.job] if entry.job not in ("", *entry.resources) else [])]
    outcome = entry.reason or entry.code or entry.note
    return (
        str(entry.number),
        wording.moment(entry.time),
        wording.enum_word(v1.AuditEvent.Name(entry.event), "AUDIT_EVENT_"),
        wording.short(entry.principal),
        wording.short(entry.method.rpartition("/")[2]),
        wording.short(", ".join(about)),
        wording.short(f"{outcome} ({entry.count:,} times)" if entry.count else outcome),
        wording.short(entry.peer),
    )
