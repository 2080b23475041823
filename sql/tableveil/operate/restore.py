"""Restoring a backup: a new database file, which gets its name when it was read from end to end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp

from tableveil.backend import Session, alias, catalog, check_path, read_only, row_hash, table
from tableveil.errors import ConflictError, InternalError, InvalidError, NotFoundError, TableveilError, shortened
from tableveil.operate.disk import failed_writing, publish_file
from tableveil.operate.examine import examine_state
from tableveil.operate.finding import Finding, Level
from tableveil.state.migrate import SCHEMA


def restore(backup: Path, database: Path) -> list[Finding]:
    """Makes a new database file of a backup, which stays as it is, and returns what an examination of it finds.

    Raises:
        NotFoundError: there is no such backup.
        ConflictError: there is something in the place of the new file; nothing is ever overwritten.
        InvalidError: the backup is damaged, unfinished, or no database.
        BusyError: the disk is full, or a process has the backup open.
    """
    _check(backup, database)
    try:
        # Under its own name, by which its views may know it, in a directory that others may not look into.
        with tempfile.TemporaryDirectory(prefix=f".{database.name}.", dir=database.parent) as directory:
            partial = Path(directory) / database.name
            shutil.copyfile(backup, partial)
            partial.chmod(0o600)
            findings = _examined(partial, backup)
            publish_file(partial, database)
    except FileExistsError:
        raise _exists(database) from None
    except OSError as error:
        raise failed_writing(database, error) from None
    return findings


def _check(backup: Path, database: Path) -> None:
    check_path(database, "database")
    if not backup.is_file():
        raise NotFoundError.of("BACKUP_NOT_FOUND", "backup", shortened(str(backup)), "an existing file")
    if backup.with_name(f"{backup.name}.wal").exists():
        raise InvalidError.of(
            "BACKUP_IN_USE",
            "backup",
            f"{shortened(str(backup))} with a log beside it",
            "a backup as `tableveil backup` made it, which is a single file",
            "Somebody opened it: close it there, or restore another one.",
        )
    if not os.access(database.parent, os.W_OK | os.X_OK):
        found = f"{shortened(str(database))}, in a directory that is not there or cannot be written"
        raise InvalidError.of("DATABASE_UNWRITABLE", "database", found, "a path in an existing, writable directory")
    for taken in (database, database.with_name(f"{database.name}.wal")):
        if os.path.lexists(taken):
            raise _exists(taken)


def _exists(path: Path) -> ConflictError:
    hint = "Nothing is overwritten: choose another name, or move that file away, with its log (.wal)."
    return ConflictError.of(
        "DATABASE_EXISTS", "database", f"{shortened(str(path))}, which is there", "a new file", hint
    )


def _examined(copy: Path, backup: Path) -> list[Finding]:
    try:
        with read_only(copy) as session:
            _read_all(session)
            return [*examine_state(session), *_forgotten(session)]
    except InternalError:
        # A block that is not what it was when it was written shows when it is read, in many ways.
        raise _damaged(backup) from None
    except InvalidError as error:
        raise _damaged(backup) if error.code == "DATABASE_UNREADABLE" else error from None


def _forgotten(session: Session) -> Iterator[Finding]:
    """A backup cannot know what was released after it was made."""
    if not catalog.has_table(session, SCHEMA, "releases"):
        return
    number, made = session.row("SELECT max(number), max(created_at) FROM tableveil.releases")
    last = f"ends with releases/{number} of {made:%Y-%m-%d %H:%M} UTC" if number else "has no releases"
    found = (
        f"the ledger {last}: what was released since the backup was made is not in it, and asks for no repeat_reason"
    )
    advice = (
        "Restore the newest backup that can be had, or the database file itself. If releases are missing, give a "
        "repeat_reason for their people yourself."
    )
    yield Finding(Level.WARNING, "ledger", found, advice)


def _damaged(backup: Path) -> TableveilError:
    return InvalidError.of(
        "BACKUP_DAMAGED",
        "backup",
        f"{shortened(str(backup))}, which cannot be read from end to end",
        "a whole backup",
        "Restore another one.",
    )


def _read_all(session: Session) -> None:
    own = session.catalog
    for schema, name in catalog.tables(session, own):
        rows = exp.select(alias(exp.BitwiseXorAgg(this=row_hash(exp.column("row"))), "read"))
        session.value(rows.from_(table(name, schema, own, "row")))
