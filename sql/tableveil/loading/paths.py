"""Files that may be loaded: below the directories that the operator named, links followed first."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tableveil.errors import ConflictError, InvalidError, TableveilError, shortened

_DESCRIPTORS = Path("/proc/self/fd")
"""Where Linux has a link to each file that is open."""


@contextmanager
def allowed_file(path: str, directories: Sequence[Path]) -> Iterator[Path]:
    """The file that is meant, all links followed, by a path that leads to it whatever is put in its place meanwhile.

    A path that is not absolute begins in any of the directories.

    Raises:
        InvalidError: the server loads from no directories, or from others, or there is no such file.
        ConflictError: the file was changed, moved or replaced while the block ran.
    """
    descriptor = _opened(path, directories)
    try:
        before = _state(descriptor)
        try:
            # The database is given a path and opens it several times: this one leads to what is open here.
            yield _link(descriptor)
        except TableveilError:
            # What cannot be read may be unreadable because it is not the same any more.
            _check_unchanged(path, before, _state(descriptor))
            raise
        _check_unchanged(path, before, _state(descriptor))
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
    # A file that there is but must not be read is not told from one that there is not.
    for root in roots:
        if (descriptor := _opened_below(root / path, roots)) is not None:
            return descriptor
    raise InvalidError.of("FILE_NOT_FOUND", "file.path", shortened(path), expected)


def _opened_below(path: Path, roots: Sequence[Path]) -> int | None:
    """The file behind all links; None if there is none below the roots, or none that the system opens."""
    try:
        found = path.resolve()
        if not (found.is_file() and _is_below(found, roots)):
            return None
        # Something else may be in its place by now: a link, a pipe that would keep us waiting, or a file elsewhere.
        descriptor = os.open(found, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, RuntimeError):
        # Too long, links in a circle, or what must not be looked into.
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode) and _is_below(_link(descriptor).readlink(), roots):
        return descriptor
    os.close(descriptor)
    return None


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _link(descriptor: int) -> Path:
    """What the system keeps as a link to the file that is open: what it says is the file's path as of now."""
    return _DESCRIPTORS / str(descriptor)


def _state(descriptor: int) -> tuple[Path, int, int]:
    """What differs once the file is changed, moved, replaced or deleted."""
    status = os.fstat(descriptor)
    return _link(descriptor).readlink(), status.st_size, status.st_mtime_ns


def _check_unchanged(path: str, before: tuple[Path, int, int], after: tuple[Path, int, int]) -> None:
    if after != before:
        raise ConflictError.of(
            "FILE_CHANGED",
            "file.path",
            f"{shortened(path)}, which was changed, moved or replaced while it was read",
            "a file that stays as it is",
            "Nothing was loaded. Load it again when it is written; let writers give it its name when it is whole.",
        )


def pattern(path: Path) -> str:
    """The path as the database takes it, which would read `*`, `?` and `[` as wildcards."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
