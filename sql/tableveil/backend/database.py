"""The database file: opened by one process, locked down, with a private directory to spill into."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tableveil.backend.failures import translated
from tableveil.backend.interrupter import Interrupter
from tableveil.backend.session import Ledger, Session
from tableveil.backend.trial import Trials
from tableveil.backend.visibility import present_visibility
from tableveil.backend.warehouse import Warehouse, WarehouseSession
from tableveil.control import Stopped
from tableveil.errors import BusyError, InternalError, InvalidError, TableveilError, shortened


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's settings of the database.

    `memory_limit` is in DuckDB's notation ("2GiB"), None for its default of 80 % of the machine; `threads` None for all
    cores. Statements may read and write files below `directories`, and no others; by default there are none.
    `spill_limit` bounds the data written to the disk for lack of memory; None for half of the free space.
    """

    path: Path
    memory_limit: str | None = None
    threads: int | None = None
    directories: tuple[Path, ...] = ()
    spill_limit: str | None = None


class Database:
    """An open database file. `session` gives each thread its own cursor.

    Rows may also be in the `warehouses` beside it, by their names.
    """

    def __init__(self, settings: Settings) -> None:
        """Opens or creates the file and removes data that an earlier process may have spilled.

        Raises:
            BusyError: another process has the file open.
            InvalidError: the file cannot be opened, or a setting cannot be understood.
        """
        self.path = settings.path.absolute()
        # Spilled data is raw data and survives kill -9: it lives in one known, private place, swept here.
        self.spill_directory = settings.path.with_name(f".{settings.path.name}.spill")
        self._connection: duckdb.DuckDBPyConnection | None = _connect(settings, self.spill_directory)
        # Every session would ask for it.
        self._catalog = str(*self._connection.execute("SELECT current_database()").fetchall()[0])
        self._file = _file_at(settings.path)
        # The file's lock is ours now, so no process needs the files in the directory any more.
        self.sweep()
        self.spill_directory.mkdir(mode=0o700)
        self._interrupter = Interrupter()
        self._trials = Trials()
        # Releases are written one after another, so that each sees the ledger entries of those before it.
        self.writing = threading.Lock()
        self._making_cursor = threading.Lock()
        self.warehouses: dict[str, Warehouse] = {}

    def session(self) -> Session:
        """A new session, which sees what the running work may see; close it when done.

        Raises:
            BusyError: the database is closed (STOPPING).
        """
        visibility = present_visibility()()
        # A connection must not be used from several threads, not even to make cursors.
        try:
            with self._making_cursor:
                if self._connection is None:
                    raise BusyError("STOPPING", "the server is stopping and has closed its database")
                given = (self._interrupter, self._trials, self._require_file, visibility, self._catalog)
                return Session(self._connection.cursor(), *given)
        except duckdb.Error as error:
            raise translated(error) from None

    def warehouse_of(self, catalog: str) -> str:
        """The warehouse that a table's full name begins with; empty for the database itself, or what is not there."""
        return catalog if catalog in self.warehouses else ""

    @contextmanager
    def rows_session(self, embedded: Session, warehouse: str) -> Iterator[WarehouseSession]:
        """A session of the rows in a warehouse, for the work of an embedded one; that itself if the name is empty.

        Raises:
            BusyError: the warehouse does not answer, or the server was started without it.
        """
        if not warehouse:
            yield embedded
        elif warehouse not in self.warehouses:
            actual, hint = f"{shortened(warehouse)}, which the server has not", "Start it with --warehouse."
            raise BusyError.of("WAREHOUSE_UNAVAILABLE", "warehouse", actual, "a warehouse of the server", hint)
        else:
            with self.warehouses[warehouse].session(embedded) as session:
                yield session

    def ledger(self) -> Ledger:
        """A new access to the ledger alone; close it when done."""
        return self.session().ledger

    def works(self) -> bool:
        """Whether statements still run: a failed checkpoint, as on a full disk, ends them until the file reopens."""
        try:
            with self.session() as session:
                session.execute("SELECT 1")
        except TableveilError as error:
            return error.code != "DATABASE_INVALIDATED"
        return True

    @property
    def replaced(self) -> bool:
        """Whether the path names another file than the open one, or none: further writes would be lost."""
        return _file_at(self.path) != self._file

    def close(self) -> None:
        """Closes the file, its log folded into it, and removes the spill directory.

        Close all sessions before calling it. If the path names another file, that file's log and spill directory belong
        to another process and stay.
        """
        self._interrupter.close()
        # gRPC may keep the handlers of a stopped server, and with them this object: it must not keep the connection.
        with self._making_cursor:
            connection, self._connection = self._connection, None
        if connection is None:
            return
        if not self.replaced:
            # A log that cannot be folded stays, and the next start replays it.
            with suppress(duckdb.Error):
                connection.execute("CHECKPOINT")
        connection.close()
        self.sweep()

    def sweep(self) -> None:
        """Removes spilled data, unless another process owns it: for a process that ends without closing the file."""
        if not self.replaced:
            shutil.rmtree(self.spill_directory, ignore_errors=True)

    def _require_file(self) -> None:
        if self.replaced:
            raise InternalError(
                "DATABASE_REPLACED",
                f"{shortened(str(self.path))} is not the file any more that the server has open: it was moved, deleted "
                "or replaced. Nothing more is written, since it would be lost. Make a backup of what the server still "
                "holds (tableveil backup), stop the server, and put the file or the backup in place",
            )


@contextmanager
def read_only(path: Path) -> Iterator[Session]:
    """A session on a file that no other process has open; nothing is written, not even beside it.

    Raises:
        BusyError: another process has the file open.
        InvalidError: the file cannot be opened.
    """
    check_path(path, "database")
    try:
        connection = duckdb.connect(str(path), read_only=True, config={"temp_directory": ""})
    except duckdb.Error as error:
        raise _opening_failed(path, error) from None
    interrupter = Interrupter()
    try:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET GLOBAL enable_external_access = false")
        yield Session(connection, interrupter)
    finally:
        interrupter.close()
        connection.close()


def check_path(path: Path, field: str) -> None:
    """Refuses a path that the database would not keep its log beside.

    DuckDB takes the text after a question mark for options, and inserts `.wal` before it.

    Raises:
        InvalidError: there is a question mark in it.
    """
    if "?" in str(path.absolute()):
        actual = f"{shortened(str(path.absolute()))}, in which there is a question mark"
        hint = "Rename it: DuckDB takes what follows a question mark for options."
        raise InvalidError.of("PATH_INVALID", field, actual, "a path without one", hint)


def _connect(settings: Settings, spill_directory: Path) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(spill_directory),
        # DuckDB's default is nine tenths, which leaves too little room for commits meanwhile.
        "max_temp_directory_size": settings.spill_limit or f"{_free(spill_directory.parent) // 2}B",
    }
    if settings.memory_limit is not None:
        config["memory_limit"] = settings.memory_limit
    if settings.threads is not None:
        config["threads"] = settings.threads
    check_path(settings.path, "database")
    try:
        connection = duckdb.connect(str(settings.path), config=config)
        # Set afterwards: at connect time the extension that knows time zones is not loaded yet. GLOBAL reaches cursors.
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        # At its end DuckDB would remove the log by its path, which may belong to another database by then: see `close`.
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        # SQL that the server runs must not reach other files. The database accepts these exceptions only before it is
        # locked down.
        allowed = [f"{directory.resolve()}/" for directory in settings.directories]
        connection.execute("SET GLOBAL allowed_directories = ?", [allowed])
        connection.execute("SET GLOBAL enable_external_access = false")
        connection.execute("SET GLOBAL allowed_configs = ['enable_progress_bar', 'enable_progress_bar_print']")
        connection.execute("SET GLOBAL lock_configuration = true")
        return connection
    except duckdb.Error as error:
        raise _opening_failed(settings.path, error) from None


def _free(directory: Path) -> int:
    """Free bytes; 0 if there is no such directory: opening a file in it reports that."""
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return 0


def _file_at(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file, None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _opening_failed(path: Path, error: duckdb.Error) -> TableveilError | Stopped:
    if isinstance(error, duckdb.IOException) and "lock" in str(error).lower():
        return BusyError.of(
            "DATABASE_LOCKED",
            "database",
            f"{shortened(str(path))}, open in another process",
            "a file that no other process has open",
            "Stop the other process, or connect to the server that owns the file.",
        )
    if isinstance(error, duckdb.IOException) and "No space left" not in str(error):
        return InvalidError.of(
            "DATABASE_UNREADABLE",
            "database",
            f"{shortened(str(path))}, which cannot be opened",
            "a DuckDB file, or a path in an existing, writable directory",
        )
    if isinstance(error, (duckdb.InvalidInputException, duckdb.ParserException, duckdb.SyntaxException)):
        return InvalidError("SETTING_INVALID", f"the database refused its settings: {error}")
    return translated(error)
