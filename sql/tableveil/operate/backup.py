"""Backups of a database in use: a copy as of one moment, checked before it gets its name."""

from __future__ import annotations

import fcntl
import glob
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from tableveil.backend import Database, Session, attached, catalog, check_path, identifier, render, table
from tableveil.control import Control
from tableveil.errors import BusyError, ConflictError, InternalError, InvalidError, shortened
from tableveil.operate.disk import check_free_space, failed_writing, publish_file
from tableveil.state import jobs, ledger_gaps
from tableveil.state.migrate import SCHEMA

SUFFIX = ".duckdb"

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_PARTIAL, _LOCK = ".partial", "lock"


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup: its file, its bytes, and its numbers of tables and of rows."""

    path: Path
    size: int
    tables: int
    rows: int
    seconds: float


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

    def make(self, name: str, control: Control) -> Backup:
        """Writes the backup `name`, and ends early when `control` says so; jobs continue meanwhile.

        Raises:
            InvalidError: the name cannot be a file's, or the server has no directory for backups.
            ConflictError: there is a backup of that name.
            BusyError: another backup is being made, or the disk is full.
        """
        path = self._path(name)
        if not self._making.acquire(blocking=False):
            raise BusyError.of("BACKUP_RUNNING", "backup", "another backup that is being made", "none", "Wait for it.")
        try:
            with self._database.session() as session:
                check_free_space(path.parent, "backup directory", catalog.used_bytes(session))
                session.control = control
                return self._make(session, path)
        finally:
            self._making.release()

    def _make(self, session: Session, path: Path) -> Backup:
        began = time.monotonic()
        try:
            with _workplace(path.parent, self._database.path.name) as place:
                partial = place / path.name
                with attached(session, partial) as copy:
                    tables = _copy(session, copy)
                _finish(partial, path)
        except OSError as error:
            raise failed_writing(path, error) from None
        return Backup(path, path.stat().st_size, len(tables), sum(tables.values()), time.monotonic() - began)

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


def _copy(session: Session, copy: str) -> dict[tuple[str, str], int]:
    """Copies everything as of one moment, and returns the tables' numbers of rows after checking them."""
    own = session.catalog
    with session.transaction(elsewhere=True):
        # Sequences do not belong to the transaction: values read before are lower bounds for the copy's.
        least = catalog.next_values(session, own)
        session.execute(f"COPY FROM DATABASE {render(identifier(own))} TO {copy}")
        rows = row_counts(session, own)
        _check("rows", row_counts(session, copy) == rows)
        copied = catalog.definitions(session, copy)
        for name, original in catalog.definitions(session, own).items():
            _check(name, copied[name] == original)
        reached = catalog.next_values(session, copy)
        _check("sequences", reached.keys() == least.keys() and all(reached[key] >= least[key] for key in least))
        if (SCHEMA, "ledger_gaps") in rows:
            ledger_gaps.insert_unknown(session.ledger, copy, jobs.now())
    return rows


def row_counts(session: Session, database: str) -> dict[tuple[str, str], int]:
    """How many rows each table of an attached database has, by schema and name."""
    count = exp.select(exp.Count(this=exp.Star()))
    return {
        (schema, name): session.value(count.from_(table(name, schema, database)))
        for schema, name in catalog.tables(session, database)
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
    found, hint = (
        f"{shortened(path.name)}, which is there already",
        "Backups are never overwritten: choose another name.",
    )
    return ConflictError.of("BACKUP_EXISTS", "name", found, "a name that no backup has", hint)


def _check_directory(directory: Path) -> None:
    check_path(directory, "backup_directory")
    if not (directory.is_dir() and os.access(directory, os.W_OK | os.X_OK)):
        raise InvalidError.of(
            "BACKUP_DIRECTORY",
            "backup_directory",
            f"{shortened(str(directory))}, which is no directory that the server may write",
            "an existing directory that it may write",
        )
