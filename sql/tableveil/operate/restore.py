"""Restoring a backup: a new database file, which gets its name after it was read from end to end."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tableveil.backend import Session, catalog, check_path, read_only, sql, table
from tableveil.errors import ConflictError, InternalError, InvalidError, NotFoundError, TableveilError, shortened
from tableveil.operate.disk import failed_writing, publish_file
from tableveil.operate.examine import examine_state
from tableveil.operate.finding import Finding, Level
from tableveil.operate.newer_ledger import last_known, newer_files, note_copy, take_over
from tableveil.state import ledger_gaps
from tableveil.state.lineage import last_marked
from tableveil.state.migrate import SCHEMA


def restore(backup: Path, database: Path, ledger: Path | None = None) -> list[Finding]:
    """Makes a new database file of a backup, which stays unchanged, and returns the findings of examining it.

    From `ledger`, a newer file of the same database, it takes over what the backup lacks: releases, decisions, charges.

    Raises:
        NotFoundError: there is no such backup.
        ConflictError: something exists at the path of the new file; nothing is ever overwritten.
        InvalidError: the backup is damaged, unfinished, or no database; or the newer file does not fit it.
        BusyError: the disk is full, or a process has the backup open.
    """
    _check(backup, database)
    try:
        # With the database's own name, which its views may refer to, in a directory that other users cannot read.
        with tempfile.TemporaryDirectory(prefix=f".{database.name}.", dir=database.parent) as directory:
            partial = Path(directory) / database.name
            shutil.copyfile(backup, partial)
            partial.chmod(0o600)
            _check_whole(partial, backup)
            taken_over = _complete_ledger(partial, backup, ledger)
            with read_only(partial) as session:
                findings = [*examine_state(session), *taken_over, *_newer_ledgers(session, backup, database)]
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
        actual = f"{shortened(str(database))}, in a directory that is not there or cannot be written"
        raise InvalidError.of("DATABASE_UNWRITABLE", "database", actual, "a path in an existing, writable directory")
    for taken in (database, database.with_name(f"{database.name}.wal")):
        if os.path.lexists(taken):
            raise _exists(taken)


def _exists(path: Path) -> ConflictError:
    hint = "Nothing is overwritten: choose another name, or move that file away, with its log (.wal)."
    return ConflictError.of(
        "DATABASE_EXISTS", "database", f"{shortened(str(path))}, which is there", "a new file", hint
    )


def _check_whole(copy: Path, backup: Path) -> None:
    try:
        with read_only(copy) as session:
            _read_all(session)
    except InternalError:
        # A damaged block shows in many ways when it is read.
        raise _damaged(backup) from None
    except InvalidError as error:
        raise _damaged(backup) if error.code == "DATABASE_UNREADABLE" else error from None


def _complete_ledger(copy: Path, backup: Path, newer: Path | None) -> list[Finding]:
    """Takes over what a newer ledger knows; without one, the copy at least has to know that it is one."""
    if newer is not None:
        return take_over(copy, newer)
    with read_only(copy) as session:
        if not catalog.has_table(session, SCHEMA, "ledger_gaps"):
            return []
        gap = ledger_gaps.latest(session.ledger)
        is_noted = gap is not None and gap.after >= last_known(session)
    made_at = datetime.fromtimestamp(backup.stat().st_mtime, UTC).replace(tzinfo=None)
    note_copy(copy, None if is_noted else made_at)
    return []


def _newer_ledgers(session: Session, backup: Path, database: Path) -> Iterator[Finding]:
    """Where later releases are known: in other backups, or by the mark of the database that was in the place."""
    if not catalog.has_table(session, SCHEMA, "releases"):
        return
    subject, last = "newer ledger", last_known(session)
    advice = "Restore that one; or this one again, with --ledger and that one's path."
    for path, mark in newer_files(backup, session):
        yield Finding(Level.WARNING, subject, f"{shortened(str(path))} ends with releases/{mark}", advice)
    if (mark := last_marked(database, session.ledger)) > last:
        actual = f"the database that was here had made releases up to releases/{mark}"
        advice = "If its file is still somewhere, restore again with --ledger and its path."
        yield Finding(Level.WARNING, subject, actual, advice)


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
        session.value(sql("SELECT bit_xor(hash(row)) AS read FROM $rows AS row", rows=table(name, schema, own)))
