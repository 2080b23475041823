"""Which users may open files: tests create them with the umask that most people have."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def usual_umask() -> Iterator[None]:
    """The umask by which files that nobody thought of are for everybody to read."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def open_to_others(place: Path) -> dict[str, str]:
    """Modes of what others may open: the file or directory, and all that is in it."""
    modes = {str(path): path.stat().st_mode & 0o777 for path in (place, *place.rglob("*"))}
    return {path: f"{mode:o}" for path, mode in modes.items() if mode & 0o077}
