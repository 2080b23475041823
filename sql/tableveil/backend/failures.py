"""Translates the database's exceptions; their texts hold raw values ("Could not convert 'Smith' …") and are dropped."""

import duckdb

from tableveil.control import Stopped
from tableveil.errors import BusyError, ConflictError, InternalError, TableveilError


def translated(error: duckdb.Error) -> TableveilError | Stopped:
    """Translates an error of DuckDB into one of ours.

    Raise it `from None`: the original must not be printed with it.
    """
    if isinstance(error, duckdb.InterruptException):
        return Stopped()
    message = str(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        if "max_temp_directory_size" in message:
            return BusyError.of(
                "DISK_FULL",
                "spill directory",
                "as much spilled as may be",
                "room for what does not fit into memory",
                "Free space beside the database file, or raise the server's --memory-limit or --spill-limit.",
            )
        return BusyError.of(
            "OUT_OF_MEMORY",
            "memory limit",
            "a statement that does not fit, even by spilling",
            "enough memory",
            "Raise the server's --memory-limit, or let fewer jobs run at once (--concurrent-jobs).",
        )
    if isinstance(error, duckdb.FatalException):
        why = "the disk is full, and " if "No space left" in message else ""
        return InternalError(
            "DATABASE_INVALIDATED", f"{why}the database failed and must be reopened: restart the server"
        )
    # A commit that cannot write the log raises a transaction's error; nothing of it was committed.
    if "No space left" in message:
        return BusyError.of(
            "DISK_FULL",
            "database file system",
            "no space left on the device",
            "free space",
            "Free space where the database file is, then try again: nothing of this was written.",
        )
    if isinstance(error, duckdb.ConstraintException):
        return ConflictError.of(
            "CONSTRAINT_BROKEN",
            "rows",
            "some that break a constraint of the table (NOT NULL, UNIQUE, CHECK or a key)",
            "rows that keep to it",
        )
    if isinstance(error, duckdb.TransactionException):
        return ConflictError.of(
            "WRITE_CONFLICT",
            "database",
            "another transaction that changed the same objects",
            "no concurrent change",
            "Submit the job again.",
        )
    return InternalError("DATABASE_ERROR", f"the database refused a statement ({type(error).__name__})")
