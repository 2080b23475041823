"""A mark beside the database of how far its ledger has come: a restored older file is known by it."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
from contextlib import suppress
from pathlib import Path

from tableveil.backend import Session
from tableveil.state import ledger_gaps
from tableveil.state.migrate import fingerprint_key
from tableveil.state.releases import RELEASES

logger = logging.getLogger(__name__)


def remember_release(path: Path, session: Session) -> None:
    """Writes the number of the last release beside the database; call it after the commit, one at a time.

    A process that ends in between leaves a lower number, which is true as well. A failure to write it
    undoes no release, and is logged.
    """
    key, number = fingerprint_key(session.ledger), ledger_gaps.last_release(session.ledger)
    marks = _read(path)
    if _number(marks, key) >= number:
        return
    marks[_lineage(key)] = {"release": number, "mac": _mac(key, number)}
    partial = path.with_name(f".{path.name}.ledger.partial")
    try:
        with suppress(FileNotFoundError):
            partial.unlink()
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(marks, file)
        partial.replace(_marker(path))
    except OSError as error:
        logger.warning("the mark of the last release was not written: %s", error.strerror)


def notice_older_ledger(path: Path, session: Session) -> None:
    """Compares the ledger with the mark when the database is opened, and notes the releases that are missing in it.

    Their numbers are not given again.
    """
    number = _number(_read(path), fingerprint_key(session.ledger))
    if number > ledger_gaps.last_release(session.ledger):
        with session.transaction():
            ledger_gaps.insert(session.ledger, number)
            while RELEASES.next_number(session.ledger) < number:
                pass
        logger.warning("the ledger went back in time: %s", ledger_gaps.latest(session.ledger))
    remember_release(path, session)


def last_marked(path: Path, session: Session) -> int:
    """The largest number of a release that the mark beside a path has of the session's database; 0 if there is none."""
    return _number(_read(path), fingerprint_key(session.ledger))


def _marker(path: Path) -> Path:
    return path.with_name(f".{path.name}.ledger")


def _read(path: Path) -> dict[str, dict[str, object]]:
    """The marks by database: several may take turns under one name, each known by its key."""
    try:
        marks = json.loads(_marker(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return marks if isinstance(marks, dict) else {}


def _number(marks: dict[str, dict[str, object]], key: bytes) -> int:
    match marks.get(_lineage(key)):
        case {"release": int(number), "mac": str(mac)} if hmac.compare_digest(mac, _mac(key, number)):
            return number
    return 0


def _lineage(key: bytes) -> str:
    return hmac.new(key, b"lineage", hashlib.sha256).hexdigest()[:16]


def _mac(key: bytes, number: int) -> str:
    return hmac.new(key, f"last release {number}".encode(), hashlib.sha256).hexdigest()
