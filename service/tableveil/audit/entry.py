"""Entries as lines of the file: JSON objects, each with the hash of the line before it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tableveil.state.audit_entries import AuditEntry, AuditEvent

FIRST = b'{"previous":"'
"""Each line begins with it."""

_PREVIOUS = slice(len(FIRST), len(FIRST) + 64)

_NUMBER = _PREVIOUS.stop + len('","number":')

_LONGEST_TEXT = 200
MOST_RESOURCES = 20
"""Names in an entry: a call about more of them would do what no entry tells."""


_ENCODER = json.JSONEncoder(separators=(",", ":"))

# A caller may write a token where a name belongs: ours, and JWTs.
_SECRETS = re.compile(r"tvl_[0-9A-Za-z]{20,}|eyJ[\w-]+\.[\w-]+\.[\w-]*")


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: the number of its last entry, and the SHA-256 of that entry's line, line feed included."""

    number: int
    hash: str

    def after(self, line: bytes) -> Head:
        """The head once that line is appended."""
        return Head(self.number + 1, hash_of(line))


GENESIS = Head(0, "0" * 64)


def hash_of(line: bytes) -> str:
    """The hash by which the next line names this one."""
    return hashlib.sha256(line).hexdigest()


def previous_of(line: bytes) -> bytes:
    """The hash that a line has of the one before."""
    return line[_PREVIOUS]


def number_of(line: bytes) -> int:
    """The number of the entry in a line of the server's."""
    return int(line[_NUMBER : line.index(b",", _NUMBER)])


def line_of(entry: AuditEntry, head: Head) -> bytes:
    """The entry as the line after the head; texts are cut, and secrets in them blanked."""
    more = len(entry.resources) - MOST_RESOURCES
    fields = {
        "previous": head.hash,
        "number": head.number + 1,
        "time": entry.at.isoformat(timespec="microseconds") + "Z",
        "event": entry.event.value,
        "principal": _cut(entry.principal),
        "authenticated_by": entry.authenticated_by,
        "peer": _cut(entry.peer),
        "method": _cut(entry.method),
        "resources": [_cut(name) for name in entry.resources[:MOST_RESOURCES]],
        "decision": entry.decision,
        "code": entry.code,
        "reason": _cut(entry.reason),
        "job": entry.job,
        "correlation": entry.correlation,
        "seconds": None if entry.seconds is None else round(entry.seconds, 6),
        "count": entry.count,
        "note": _cut(entry.note or f"and {more} more names" * (more > 0)),
    }
    return _SECRETS.sub("(secret)", _ENCODER.encode(fields)).encode() + b"\n"


def read_line(line: bytes) -> AuditEntry:
    """The entry in a whole line; `ValueError` if it is none."""
    if not line.endswith(b"\n"):
        raise ValueError("it has no end")
    try:
        fields = json.loads(line)
        del fields["previous"]
        at = datetime.fromisoformat(fields.pop("time")).astimezone(UTC).replace(tzinfo=None)
        event, resources = AuditEvent(fields.pop("event")), tuple(fields.pop("resources"))
        return replace(AuditEntry(at, event, resources=resources), **fields)
    except (KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError("it is no entry") from error


def read_entries(path: Path) -> Iterator[AuditEntry]:
    """The entries of a file; lines that are none are left out."""
    with path.open("rb") as file:
        for line in file:
            with suppress(ValueError):
                yield read_line(line)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
