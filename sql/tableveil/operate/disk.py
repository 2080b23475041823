"""Checks that the disk has enough room before something begins, so that it does not fail in the middle."""

import errno
import os
import shutil
from pathlib import Path

from tableveil.errors import BusyError, InternalError, TableveilError, shortened

LEAST_FREE_BYTES = 64 * 2**20
"""Nothing begins with less free room than this.

DuckDB folds a log of 16 MiB into the file now and then. If that fails, the database is lost until the server starts
again.
"""


def check_free_space(place: Path, what: str, wanted: int = 0) -> None:
    """Raises `BusyError` without room for `wanted` bytes on the disk of `place`, beside the least that stays free."""
    free, least = free_bytes(place), LEAST_FREE_BYTES + wanted
    if free < least:
        raise BusyError.of(
            "DISK_FULL",
            what,
            f"{in_bytes(free)} free",
            f"at least {in_bytes(least)}",
            "Free space on that file system, then try again.",
        )


def free_bytes(place: Path) -> int:
    """Bytes that may still be written to the file system of a directory."""
    return shutil.disk_usage(place).free


def in_bytes(count: int) -> str:
    """A number of bytes for people, such as '64.0 MiB'."""
    size, units = float(count), iter(("KiB", "MiB", "GiB"))
    unit = "bytes"
    while size >= 1024 and (larger := next(units, None)):
        size, unit = size / 1024, larger
    return f"{size:.1f} {unit}" if unit != "bytes" else f"{count} bytes"


def publish_file(partial: Path, path: Path) -> None:
    """Renames a complete file within its file system, once it is safe on the disk.

    Raises:
        FileExistsError: a file of that name exists; it stays.
    """
    sync(partial)
    os.link(partial, path)
    sync(path.parent)


def failed_writing(path: Path, error: OSError) -> TableveilError:
    """The error for a file that could not be written; the partial file is removed."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "Free space on that file system, then try again."
        return BusyError.of("DISK_FULL", "file", f"no space left for {shortened(str(path))}", "free space", hint)
    reason = error.strerror or type(error).__name__
    return InternalError("FILE_UNWRITABLE", f"{shortened(str(path))} could not be written: {reason}")


def sync(path: Path) -> None:
    """Returns once a file, or the names in a directory, are safe on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
