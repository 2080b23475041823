"""Files that may be loaded: below the directories that the operator named, links followed first."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tableveil.errors import ConflictError, InvalidError, TableveilError, shortened

_DESCRIPTORS = Path("/proc/self/fd")
"""The place where Linux has a link to each open file."""


@dataclass(frozen=True, slots=True)
class LoadDirectory:
    """A directory of the operator's: stewards of its schema may load the files below it."""

    path: Path
    schema: str = "main"

    @classmethod
    def read(cls, text: str) -> LoadDirectory:
        """The directory in an option, `SCHEMA=PATH` or `PATH`."""
        schema, equals, path = text.partition("=")
        return cls(Path(path), schema) if equals and schema and "/" not in schema else cls(Path(text))


@contextmanager
def allowed_file(path: str, directories: Sequence[Path]) -> Iterator[Path]:
    """Opens the requested file, follows links, and gives a path that leads to it even if another file takes its place.

    A path that is not absolute begins in any of the directories.

    Raises:
        InvalidError: the server loads from no directories, or from others, or there is no such file.
        ConflictError: the file was changed, moved or replaced while the block ran.
    """
    descriptor = _opened(path, directories)
    try:
        before = _state(descriptor)
        try:
            # The database opens a path several times: this path leads to the file that is open here.
            yield _link(descriptor)
        except TableveilError:
            # A file may be unreadable because it was changed or replaced meanwhile.
            check_unchanged(path, before, _state(descriptor))
            raise
        check_unchanged(path, before, _state(descriptor))
    finally:
        os.close(descriptor)


def _opened(path: str, directories: Sequence[Path]) -> int:
    """The file, open for reading."""
    if not directories:
        raise InvalidError.of(
            "LOADING_NOT_ALLOWED",
            "file.path",
            shortened(path),
            "rows that come with the call; this server reads no files",
            "Start it with --load-directory, or let the client read the file.",
        )
    if not _DESCRIPTORS.is_dir():
        raise InvalidError.of(
            "LOADING_NOT_ALLOWED",
            "file.path",
            f"{shortened(path)}, on a server without {_DESCRIPTORS}",
            "rows that come with the call; this server cannot tell which file it has opened",
            "Run it on Linux with /proc, or let the client read the file.",
        )
    expected = "a file below a directory that the server was started with (--load-directory)"
    if not path or "\0" in path:
        raise InvalidError.of("FILE_NOT_FOUND", "file.path", shortened(path) if path else "nothing", expected)
    roots = [directory.resolve() for directory in directories]
    # The error for a file that must not be read is that for a missing one.
    for root in roots:
        if (descriptor := _opened_below(root / path, roots)) is not None:
            return descriptor
    raise InvalidError.of("FILE_NOT_FOUND", "file.path", shortened(path), expected)


def _opened_below(path: Path, roots: Sequence[Path]) -> int | None:
    """The opened file behind all links; None if there is none below the roots, or none that the system opens."""
    try:
        target = path.resolve()
        if not (target.is_file() and _is_below(target, roots)):
            return None
        # Another thing may be in its place by now: a link, a pipe that would block, or a file elsewhere.
        descriptor = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, RuntimeError):
        # The path is too long, has links in a circle, or leads through a closed directory.
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode) and _is_below(_link(descriptor).readlink(), roots):
        return descriptor
    os.close(descriptor)
    return None


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _link(descriptor: int) -> Path:
    """The system's link to the open file: reading it gives the file's path as of now."""
    return _DESCRIPTORS / str(descriptor)


def file_state(file: Path | int) -> tuple[int, ...]:
    """Values that differ once the file, by its path or descriptor, is changed, replaced or deleted."""
    try:
        status = os.stat(file)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _state(descriptor: int) -> tuple[Path, tuple[int, ...]]:
    """Values that differ also once the open file is moved or deleted."""
    return _link(descriptor).readlink(), file_state(descriptor)


def check_unchanged(path: str, before: object, after: object) -> None:
    """Raises `ConflictError` if a file has another state than before it was read."""
    if after != before:
        raise ConflictError.of(
            "FILE_CHANGED",
            "file.path",
            f"{shortened(path)}, which was changed, moved or replaced while it was read",
            "a file that stays as it is",
            "Nothing was loaded. Load it again when it is written; let writers give it its name when it is whole.",
        )


def pattern(path: Path) -> str:
    """The path with escapes for the database, which would read `*`, `?` and `[` as wildcards."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
