"""Files that commands write: whole or not at all, and for their owner alone, as they may hold raw values."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tableveil.errors import ConflictError, InternalError, InvalidError, shortened


def require_free(path: Path, option: str, overwrite: bool) -> None:
    """Refuses a path without a directory, or one that exists already, unless it is to be overwritten."""
    if not path.parent.is_dir():
        raise InvalidError.of("PATH_NOT_FOUND", option, shortened(str(path)), "a path in a directory that exists")
    if os.path.lexists(path) and not overwrite:
        hint = "Choose another path, or --overwrite it."
        raise ConflictError.of("PATH_EXISTS", option, shortened(str(path)), "nothing there", hint)


def write_text(path: Path, text: str, option: str, overwrite: bool) -> None:
    """Writes a text to `path`; see `whole_file`."""
    with whole_file(path, option, overwrite) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)


@contextmanager
def whole_file(path: Path, option: str, overwrite: bool) -> Iterator[Path]:
    """Yields an empty file beside `path` to write to, and moves it to `path` once it is complete.

    Raises:
        InvalidError: There is no directory for it.
        ConflictError: `path` exists, and `overwrite` is false.
        InternalError: The file system refuses it.
    """
    require_free(path, option, overwrite)
    partial = path.with_name(f".tableveil-{secrets.token_hex(8)}.partial")
    try:
        try:
            partial.touch(mode=0o600, exist_ok=False)
            yield partial
            require_free(path, option, overwrite)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        message = f"cannot write {shortened(str(path))}: {error.strerror or error}"
        raise InternalError("WRITE_FAILED", message) from error
