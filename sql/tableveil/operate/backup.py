"""Backups of a database in use: a copy as of one moment, checked before it gets its name."""

import fcntl
import glob
import logging
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tableveil.backend import (
    Database,
    Session,
    attached,
    catalog,
    check_path,
    identifier,
    read_only,
    render,
    sql,
    table,
)
from tableveil.control import Control
from tableveil.errors import BusyError, ConflictError, InternalError, InvalidError, TableveilError, shortened
from tableveil.operate.disk import check_free_space, failed_writing, publish_file, sync
from tableveil.state import backups, jobs, ledger_gaps
from tableveil.state.migrate import SCHEMA

logger = logging.getLogger("tableveil.operate")

SUFFIX = ".duckdb"

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_PARTIAL, _LOCK = ".partial", "lock"


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup: its file and bytes, its numbers of tables and rows, and older files `removed` for it."""

    path: Path
    size: int
    tables: int
    rows: int
    seconds: float
    removed: tuple[str, ...] = ()


class Backups:
    """Makes backups, one at a time, in a directory of the operator's. May be used from any thread."""

    def __init__(self, database: Database, directory: Path | None) -> None:
        """Removes half-written files of earlier processes; if the directory is None there are no backups.

        Another server may write its backups to this directory, even for a database of this name.

        Raises:
            InvalidError: the directory cannot be written.
        """
        self._database = database
        self._directory = directory.resolve() if directory else None
        self._making = threading.Lock()
        if self._directory is not None:
            _check_directory(self._directory)
            for left in self._directory.glob(f".{glob.escape(database.path.name)}.*{_PARTIAL}"):
                _sweep(left)

    def make(self, name: str, control: Control, keep: int | None = None) -> Backup:
        """Writes the backup `name`, and ends early when `control` says so; jobs continue meanwhile.

        Afterwards it removes older backups of this database, so that the `keep` latest ones are left. Files that this
        database did not note as its backups stay.

        Raises:
            InvalidError: the name cannot be a file's, `keep` is below 1, or the server has no directory for backups.
            ConflictError: there is a backup of that name.
            BusyError: another backup is being made, or the disk is full.
        """
        path = self._path(name)
        if keep is not None and keep < 1:
            raise InvalidError.of("BACKUP_KEEP_INVALID", "keep", str(keep), "at least 1: this backup is one of them")
        if not self._making.acquire(blocking=False):
            raise BusyError.of("BACKUP_RUNNING", "backup", "another backup that is being made", "none", "Wait for it.")
        try:
            with self._database.session() as session:
                check_free_space(path.parent, "backup directory", catalog.used_bytes(session))
                session.control = control
                made = self._make(session, path)
                # The backup stands: from here on nothing ends the call early.
                session.control = Control()
                return replace(made, removed=tuple(_note(session, made, keep)))
        finally:
            self._making.release()

    def _make(self, session: Session, path: Path) -> Backup:
        began = time.monotonic()
        try:
            with _workplace(path.parent, self._database.path.name) as place:
                partial = place / path.name
                with attached(session, partial) as copy:
                    original = _copy(session, copy)
                _check_catalog(partial, original)
                _finish(partial, path)
        except OSError as error:
            raise failed_writing(path, error) from None
        rows = original.rows
        return Backup(path, path.stat().st_size, len(rows), sum(rows.values()), time.monotonic() - began)

    def _path(self, name: str) -> Path:
        if self._directory is None:
            raise InvalidError.of(
                "BACKUPS_OFF",
                "name",
                "a backup for a server without a directory for backups",
                "a server that was started with one",
                "Start it with --backup-directory.",
            )
        if not _NAME.fullmatch(name):
            expected = "up to 200 letters, digits, '.', '_' and '-', the first no '.' or '-'"
            raise InvalidError.of("BACKUP_NAME_INVALID", "name", shortened(name), expected)
        path = self._directory / f"{name.removesuffix(SUFFIX)}{SUFFIX}"
        if path.exists():
            raise _exists(path)
        return path


def _note(session: Session, made: Backup, keep: int | None) -> list[str]:
    """Notes a backup in the state, and returns the files of the older ones that it removed.

    A backup is good without its note: a database whose file was replaced is backed up, and writes nothing more.
    """
    try:
        with session.transaction():
            backups.insert(session.ledger, backups.StoredBackup(made.path.name, jobs.now(), made.size))
        if keep is None:
            return []
        noted = backups.latest_first(session.ledger)
        there = [backup for backup in noted if _is_there(made.path.parent, backup)]
        removed = [backup.file for backup in there[keep:]]
        for file in removed:
            (made.path.parent / file).unlink()
        sync(made.path.parent)
        kept = {backup.file for backup in there[:keep]}
        with session.transaction():
            backups.remove(session.ledger, [backup.file for backup in noted if backup.file not in kept])
        return removed
    except (TableveilError, OSError) as error:
        logger.warning("the backup stands, but older ones may be left: %s", type(error).__name__)
        return []


def _is_there(directory: Path, backup: backups.StoredBackup) -> bool:
    """Whether the file is the one that was made: another one of that name has another size."""
    try:
        return (directory / backup.file).stat().st_size == backup.size
    except FileNotFoundError:
        return False


@contextmanager
def _workplace(directory: Path, name: str) -> Iterator[Path]:
    """A directory for half-written files, below that of the backups; only this process removes it meanwhile."""
    place = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=_PARTIAL, dir=directory))
    try:
        with (place / _LOCK).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield place
    finally:
        shutil.rmtree(place)


def _sweep(place: Path) -> None:
    """Removes half-written files, unless the process that writes them still runs: its lock ends with it."""
    try:
        with (place / _LOCK).open("rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    except FileNotFoundError:
        # The process was killed before there was a lock.
        pass
    shutil.rmtree(place, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Original:
    """A copy must have these numbers of rows and definitions, and sequences that are at least so far."""

    rows: dict[tuple[str, str], int]
    definitions: dict[str, list[tuple[Any, ...]]]
    sequences: dict[tuple[str, str], int]


def _copy(session: Session, copy: str) -> _Original:
    """Copies everything as of one moment, and checks the numbers of rows."""
    own = session.catalog
    with session.transaction(elsewhere=True):
        # Sequences do not belong to the transaction: values read before are lower bounds for the copy's.
        least = catalog.next_values(session, own)
        session.execute(f"COPY FROM DATABASE {render(identifier(own))} TO {copy}")
        original = _Original(row_counts(session, own), catalog.definitions(session, own), least)
        _check("rows", row_counts(session, copy, original.rows) == original.rows)
        if (SCHEMA, "ledger_gaps") in original.rows:
            ledger_gaps.insert_unknown(session.ledger, copy, jobs.now())
    return original


def _check_catalog(path: Path, original: _Original) -> None:
    """Compares the definitions and sequences of a written copy."""
    with read_only(path) as session:
        copied = catalog.definitions(session, session.catalog)
        reached = catalog.next_values(session, session.catalog)
    for name, definitions in original.definitions.items():
        _check(name, copied[name] == definitions)
    least = original.sequences
    _check("sequences", reached.keys() == least.keys() and all(reached[key] >= least[key] for key in least))


def row_counts(
    session: Session, database: str, tables: Iterable[tuple[str, str]] | None = None
) -> dict[tuple[str, str], int]:
    """How many rows these tables of a database have, by schema and name; by default all that the catalog lists."""
    return {
        (schema, name): session.value(sql("SELECT count(*) FROM $rows", rows=table(name, schema, database)))
        for schema, name in (catalog.tables(session, database) if tables is None else tables)
    }


def _check(what: str, equal: bool) -> None:
    if not equal:
        raise InternalError("BACKUP_DIFFERS", f"the {what} of the copy are not those of the database; it was removed")


def _finish(partial: Path, path: Path) -> None:
    """Renames a written file, once it is safe on the disk; never over another file."""
    if partial.with_name(f"{partial.name}.wal").exists():
        raise InternalError("BACKUP_DIFFERS", "the copy was not folded into one file; it was removed")
    try:
        publish_file(partial, path)
    except FileExistsError:
        raise _exists(path) from None


def _exists(path: Path) -> ConflictError:
    actual, hint = (
        f"{shortened(path.name)}, which is there already",
        "Backups are never overwritten: choose another name.",
    )
    return ConflictError.of("BACKUP_EXISTS", "name", actual, "a name that no backup has", hint)


def _check_directory(directory: Path) -> None:
    check_path(directory, "backup_directory")
    if not (directory.is_dir() and os.access(directory, os.W_OK | os.X_OK)):
        raise InvalidError.of(
            "BACKUP_DIRECTORY",
            "backup_directory",
            f"{shortened(str(directory))}, which is no directory that the server may write",
            "an existing directory that it may write",
        )
