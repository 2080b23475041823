"""The copy of the audit for queries: the server fills it from the audit's file, which is the record."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tableveil.backend import Ledger
from tableveil.state.mapper import Table

MOST_COPIED = 1_000_000
"""Entries in the copy; the oldest are dropped. The file has them all."""


class AuditEvent(StrEnum):
    """The subject of an entry.

    A call that only reads is one entry, at its end. A call that changes something, and a stream, has one at its begin
    and one at its end.
    """

    CALL = "CALL"
    BEGIN = "BEGIN"
    END = "END"
    REFUSALS = "REFUSALS"
    """Calls that were refused before their principal was known, or for their number: one entry a peer and minute."""
    OFFLINE = "OFFLINE"
    """A command on the database file while no server has it open."""
    STARTED = "STARTED"
    STOPPED = "STOPPED"
    REPAIRED = "REPAIRED"
    """The file ended within an entry, which the start cut off: no call had been answered for it."""
    MATCH = "MATCH"
    """Two releases are of the same people, and the submitter of one could not see the other."""
    UNRECORDED = "UNRECORDED"
    """Calls that were refused because the file could not be written; `count` says how many."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry. The file gives it its number; `correlation` ties the begin of a call to its end and to the log.

    `code` is the name of the call's gRPC status, `reason` the stable code of its failure. Times are UTC without a zone.
    """

    at: datetime
    event: AuditEvent
    principal: str = ""
    authenticated_by: str = ""
    peer: str = ""
    method: str = ""
    resources: tuple[str, ...] = ()
    decision: str = ""
    code: str = ""
    reason: str = ""
    job: str = ""
    correlation: str = ""
    seconds: float | None = None
    count: int | None = None
    note: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The wanted entries; an empty field wants all. A method is the last part of its name."""

    principal: str = ""
    method: str = ""
    code: str = ""
    since: datetime | None = None

    def wants(self, entry: AuditEntry) -> bool:
        """Whether the entry is among them."""
        return (
            self.principal in ("", entry.principal)
            and self.method in ("", entry.method.rpartition("/")[2])
            and self.code in ("", entry.code, entry.reason)
            and (self.since is None or entry.at >= self.since)
        )


_ENTRIES = Table("audit_entries", AuditEntry, names={"at": "happened_at", "count": "call_count", "note": "remark"})

# The fields of a line, in the order of the table's columns.
_LINE = (
    '{"number":"BIGINT","time":"TIMESTAMP","event":"VARCHAR","principal":"VARCHAR","authenticated_by":"VARCHAR",'
    '"peer":"VARCHAR","method":"VARCHAR","resources":["VARCHAR"],"decision":"VARCHAR","code":"VARCHAR",'
    '"reason":"VARCHAR","job":"VARCHAR","correlation":"VARCHAR","seconds":"DOUBLE","count":"BIGINT","note":"VARCHAR"}'
)


def newest(ledger: Ledger) -> tuple[int, str] | None:
    """Number and hash of the last entry in the copy."""
    rows = ledger.rows("SELECT number, hash FROM tableveil.audit_entries ORDER BY number DESC LIMIT 1")
    return rows[0] if rows else None


def insert(ledger: Ledger, lines: Sequence[str], hashes: Sequence[str]) -> None:
    """Adds lines of the file, with their hashes, and drops the oldest entries."""
    with ledger.transaction():
        # DuckDB reads the lines itself: a statement with a parameter for each field takes ten times as long.
        ledger.execute(
            "INSERT INTO tableveil.audit_entries SELECT entry.*, hash "
            f"FROM (SELECT from_json(unnest(?::VARCHAR[]), '{_LINE}') AS entry, unnest(?::VARCHAR[]) AS hash)",
            [list(lines), list(hashes)],
        )
        ledger.execute(
            "DELETE FROM tableveil.audit_entries WHERE number <= (SELECT max(number) FROM tableveil.audit_entries) - ?",
            [MOST_COPIED],
        )


def note_offline(ledger: Ledger, at: datetime, remark: str) -> None:
    """Notes a command on the file, which no server has open, for the audit of the next one."""
    ledger.execute("INSERT INTO tableveil.audit_pending VALUES (?, ?)", [at, remark])


def pending(ledger: Ledger) -> list[AuditEntry]:
    """The entries for commands that the audit does not have yet."""
    rows = ledger.rows("SELECT happened_at, remark FROM tableveil.audit_pending ORDER BY happened_at")
    return [AuditEntry(at, AuditEvent.OFFLINE, note=remark) for at, remark in rows]


def forget_pending(ledger: Ledger) -> None:
    """Forgets them: the audit has them."""
    ledger.execute("DELETE FROM tableveil.audit_pending")


def page(ledger: Ledger, wanted: AuditFilter, before: int | None, size: int) -> list[AuditEntry]:
    """The next `size` wanted entries with numbers below `before`, newest first."""
    return _ENTRIES.where(
        ledger,
        "number < $1 AND $2 IN ('', principal) AND $3 IN ('', split_part(method, '/', -1)) "
        "AND $4 IN ('', code, reason) AND ($5::TIMESTAMP IS NULL OR happened_at >= $5)",
        [before if before is not None else 2**62, wanted.principal, wanted.method, wanted.code, wanted.since],
        f"ORDER BY number DESC LIMIT {size}",
    )
