"""Files that may be loaded: below the directories that the operator named, links followed first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tableveil.errors import InvalidError, shortened


def allowed_file(path: str, directories: Sequence[Path]) -> Path:
    """The file that is meant, with all links followed.

    A path that is not absolute begins in any of the directories.

    Raises:
        InvalidError: the server loads from no directories, or from others, or there is no such file.
    """
    if not directories:
        raise InvalidError.of(
            "LOADING_NOT_ALLOWED",
            "file.path",
            shortened(path),
            "rows that come with the call; this server reads no files",
            "Start it with --load-directory, or let the client read the file.",
        )
    expected = "a file below a directory that the server was started with (--load-directory)"
    if not path or "\0" in path:
        raise InvalidError.of("FILE_NOT_FOUND", "file.path", shortened(path) if path else "nothing", expected)
    roots = [directory.resolve() for directory in directories]
    # A file that there is but must not be read is not told from one that there is not.
    for root in roots:
        found = _file(root / path)
        if found is not None and any(found.is_relative_to(allowed) for allowed in roots):
            return found
    raise InvalidError.of("FILE_NOT_FOUND", "file.path", shortened(path), expected)


def _file(path: Path) -> Path | None:
    """The file behind all links; None if there is none, or none whose name the system takes."""
    try:
        found = path.resolve()
        return found if found.is_file() else None
    except (OSError, RuntimeError):
        # Too long, links in a circle, or below what must not be looked into.
        return None


def pattern(path: Path) -> str:
    """The path as the database takes it, which would read `*`, `?` and `[` as wildcards."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
