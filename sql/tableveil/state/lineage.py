"""A mark beside the database of how far its ledger has come: a restored older file is known by it."""

import hashlib
import hmac
import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tableveil.backend import Ledger
from tableveil.errors import TableveilError
from tableveil.state import ledger_gaps
from tableveil.state.audit_entries import note_offline
from tableveil.state.jobs import now
from tableveil.state.ledger_gaps import suspend
from tableveil.state.migrate import fingerprint_key
from tableveil.state.releases import RELEASES

logger = logging.getLogger(__name__)

_writing = threading.Lock()


class Reached(NamedTuple):
    """How far a ledger has come: the number of its last release, and how often the rights in it were changed."""

    release: int
    rights: int


@contextmanager
def changing_rights(path: Path, ledger: Ledger) -> Iterator[None]:
    """A transaction that decides something, and is marked beside the database, or an older file would undo it.

    Nothing stops it any more once it is committed.
    """
    with ledger.transaction():
        yield
        note_decision(ledger)
    ledger.control = None
    remember(path, ledger)


def note_decision(ledger: Ledger) -> None:
    """Counts a change that an older file would undo; call it in the transaction of the change."""
    ledger.execute("INSERT INTO tableveil.rights_changes VALUES (?)", [now()])


def remember(path: Path, ledger: Ledger) -> None:
    """Writes beside the database how far its ledger has come; call it after the commit.

    A process that ends in between leaves lower numbers, which are true as well. A failure to write them undoes nothing,
    and is logged.
    """
    try:
        with _writing:
            key, marks = fingerprint_key(ledger), _read(path)
            reached = _reached(ledger)
            if reached == _marked(marks, key):
                return
            marks[_lineage(key)] = {**reached._asdict(), "mac": _mac(key, reached)}
            partial = path.with_name(f".{path.name}.ledger.partial")
            with suppress(FileNotFoundError):
                partial.unlink()
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(marks, file)
            partial.replace(_marker(path))
    except (OSError, TableveilError) as error:
        logger.warning("the mark of the ledger was not written: %s", error)


def notice_older_ledger(path: Path, ledger: Ledger) -> None:
    """Compares the ledger with the mark when the database is opened, and suspends all rights in one that is older.

    It notes the releases that are missing, whose numbers are not given again.
    """
    marked, reached = _marked(_read(path), fingerprint_key(ledger)), _reached(ledger)
    if marked.release > reached.release or marked.rights > reached.rights:
        with ledger.transaction():
            suspend(ledger)
            note_offline(
                ledger,
                now(),
                "the file is older than its mark: tokens, grants, releases and privacy budgets are suspended",
            )
            changes = max(0, marked.rights - reached.rights)
            ledger.execute("INSERT INTO tableveil.rights_changes SELECT ? FROM range(?)", [now(), changes])
            if marked.release > reached.release:
                ledger_gaps.insert(ledger, marked.release)
                while RELEASES.next_number(ledger) < marked.release:
                    pass
        logger.warning("the file is older than the mark beside it: %d changes of rights are not in it", changes)
        if marked.release > reached.release:
            logger.warning("the ledger went back in time: %s", ledger_gaps.latest(ledger))
    remember(path, ledger)


def last_marked(path: Path, ledger: Ledger) -> int:
    """The largest number of a release that the mark beside a path has of the ledger's database; 0 if there is none."""
    return _marked(_read(path), fingerprint_key(ledger)).release


def _reached(ledger: Ledger) -> Reached:
    changes = "SELECT count(*) FROM tableveil.rights_changes"
    return Reached(*ledger.row(f"SELECT ({ledger_gaps.LAST_RELEASE}), ({changes})"))


def _marker(path: Path) -> Path:
    return path.with_name(f".{path.name}.ledger")


def _read(path: Path) -> dict[str, dict[str, object]]:
    """The marks by database: several may take turns under one name, each known by its key."""
    try:
        marks = json.loads(_marker(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return marks if isinstance(marks, dict) else {}


def _marked(marks: dict[str, dict[str, object]], key: bytes) -> Reached:
    match marks.get(_lineage(key)):
        case {"release": int(release), "rights": int(rights), "mac": str(mac)}:
            reached = Reached(release, rights)
            if mac == _mac(key, reached):
                return reached
    return Reached(0, 0)


def _lineage(key: bytes) -> str:
    return hmac.new(key, b"lineage", hashlib.sha256).hexdigest()[:16]


def _mac(key: bytes, reached: Reached) -> str:
    text = f"last release {reached.release}, changes of rights {reached.rights}"
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
