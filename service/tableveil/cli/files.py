"""Files that commands write: whole or not at all, and for their owner alone, as they may hold raw values."""

import functools
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tableveil.errors import ConflictError, InternalError, InvalidError, shortened


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that an option names, for what comes out of the command."""

    path: Path
    option: str
    overwrite: bool

    def require_free(self) -> None:
        """Refuses a path without a directory, or one that exists already, unless it is to be overwritten."""
        shown = shortened(str(self.path))
        if not self.path.parent.is_dir():
            raise InvalidError.of("PATH_NOT_FOUND", self.option, shown, "a path in a directory that exists")
        if os.path.lexists(self.path) and not self.overwrite:
            hint = "Choose another path, or --overwrite it."
            raise ConflictError.of("PATH_EXISTS", self.option, shown, "nothing there", hint)

    def write(self, text: str) -> None:
        """Writes a text; see `whole`."""
        with self.whole() as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)

    @contextmanager
    def whole(self) -> Iterator[Path]:
        """Yields an empty file beside the path to write to, and moves it there once it is complete.

        Raises:
            InvalidError: There is no directory for it.
            ConflictError: The path exists, and it is not to be overwritten.
            InternalError: The file system refuses it.
        """
        self.require_free()
        partial = self.path.with_name(f".tableveil-{secrets.token_hex(8)}.partial")
        try:
            try:
                partial.touch(mode=0o600, exist_ok=False)
                yield partial
                self.require_free()
                partial.replace(self.path)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            message = f"cannot write {shortened(str(self.path))}: {error.strerror or error}"
            raise InternalError("WRITE_FAILED", message) from error


def new_file(option: str, help: str, *suffixes: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command the options of a `NewFile`, and calls it with that by the name of the first, or with None."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        kind = click.Path(path_type=Path)

        @click.option(f"--{option}", type=kind, callback=ends_in(*suffixes), metavar="FILE", help=help)
        @click.option("--overwrite", is_flag=True, help=f"Let --{option} replace a file.")
        @functools.wraps(function)
        def run(**values: Any) -> Any:
            path, overwrite = values.pop(option), values.pop("overwrite")
            values[option] = None if path is None else NewFile(path, option, overwrite)
            return function(**values)

        return run

    return decorate


def ends_in(*suffixes: str) -> Callable[[click.Context, click.Parameter, Path | None], Path | None]:
    """A check of an option whose file ends in one of these, if there are any."""

    def check(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
        if value is not None and suffixes and value.suffix.lower() not in suffixes:
            raise click.BadParameter(f"{str(value)!r} does not end in {' or '.join(suffixes)}")
        return value

    return check
