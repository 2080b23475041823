"""The database file: opened by one process, locked down, with a private directory to spill into."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tableveil.backend.failures import translated
from tableveil.backend.interrupter import Interrupter
from tableveil.backend.session import Session
from tableveil.errors import BusyError, InvalidError, shortened


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator decides about the database.

    `memory_limit` is in DuckDB's notation ("2GiB"), None for its default of 80 % of the machine; `threads` None for all
    cores.
    """

    path: Path
    memory_limit: str | None = None
    threads: int | None = None


class Database:
    """An open database file. `session` gives each thread its own cursor."""

    def __init__(self, settings: Settings) -> None:
        """Opens or creates the file and sweeps what an earlier process may have spilled.

        Raises:
            BusyError: another process has the file open.
            InvalidError: the file cannot be opened, or a setting is not understood.
        """
        self.path = settings.path
        # Spilled data is raw data and survives kill -9: it lives in one known, private place, swept here.
        self.spill_directory = settings.path.with_name(f".{settings.path.name}.spill")
        self._connection = _connect(settings, self.spill_directory)
        # The file's lock is ours now, so whatever lies in the directory is nobody's.
        shutil.rmtree(self.spill_directory, ignore_errors=True)
        self.spill_directory.mkdir(mode=0o700)
        self._interrupter = Interrupter()
        # Releases are written one after another, so that each sees the ledger entries of those before it.
        self.writing = threading.Lock()
        self._making_cursor = threading.Lock()

    def session(self) -> Session:
        """A new session; close it when done."""
        # A connection is not to be used from several threads, not even to make cursors.
        try:
            with self._making_cursor:
                return Session(self._connection.cursor(), self._interrupter)
        except duckdb.Error as error:
            raise translated(error) from None

    def close(self) -> None:
        """Closes the file and removes the spill directory. Close all sessions before."""
        self._interrupter.close()
        self._connection.close()
        shutil.rmtree(self.spill_directory, ignore_errors=True)


def _connect(settings: Settings, spill_directory: Path) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        # SQL that the server runs must not reach other files.
        "enable_external_access": "false",
        "temp_directory": str(spill_directory),
    }
    if settings.memory_limit is not None:
        config["memory_limit"] = settings.memory_limit
    if settings.threads is not None:
        config["threads"] = settings.threads
    try:
        connection = duckdb.connect(str(settings.path), config=config)
        # Set afterwards: at connect time the extension that knows time zones is not loaded yet. GLOBAL reaches cursors.
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET GLOBAL lock_configuration = true")
        return connection
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            raise BusyError.of(
                "DATABASE_LOCKED",
                "database",
                f"{shortened(str(settings.path))}, open in another process",
                "a file that no other process has open",
                "Stop the other process, or connect to the server that owns the file.",
            ) from None
        raise InvalidError.of(
            "DATABASE_UNREADABLE",
            "database",
            f"{shortened(str(settings.path))}, which cannot be opened",
            "a DuckDB file, or a path in an existing, writable directory",
        ) from None
    except (duckdb.InvalidInputException, duckdb.ParserException, duckdb.SyntaxException) as error:
        raise InvalidError("SETTING_INVALID", f"the database refused its settings: {error}") from None
    except duckdb.Error as error:
        raise translated(error) from None
