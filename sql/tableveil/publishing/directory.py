"""A directory of read-only DuckDB files, one for each release."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlglot import exp

from tableveil.answers import MACROS, SPREAD_SCHEMAS
from tableveil.backend import Session, alias, attached, cast, create_table, identifier, number, render, table, text
from tableveil.errors import Fault, InternalError, shortened
from tableveil.operate.disk import failed_writing, sync
from tableveil.publishing.edition import Edition, Item
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state.release_objects import ObjectKind

FORMAT_VERSION = 1
"""The version of a file's structure: public objects by their names, the table `tableveil.release`, and macros."""

FILE_MODE = 0o440
"""Nobody writes a published file, and only its group reads it."""
_PARTIAL = ".partial"


class DirectoryTarget:
    """Writes `releases-7.duckdb` beside, and gives it its name once it is safe on the disk."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def faults(self, items: Iterable[Item]) -> list[Fault]:
        """None: a DuckDB file holds whatever the service's database does."""
        return []

    def publish(self, session: Session, read: Callable[[], Edition], confirm: Callable[[], None]) -> None:
        """See `Target`; an earlier release of the same name has a file of its own."""
        partial = self.directory / f".new.duckdb{_PARTIAL}"
        self.sweep()
        try:
            with writable(self.directory):
                with attached(session, partial) as copy, session.transaction(elsewhere=True):
                    edition = read()
                    _copy(session, edition, copy)
                if partial.with_name(f"{partial.name}.wal").exists():
                    raise InternalError("COPY_DIFFERS", "the file was not folded into one; it was removed")
                partial.chmod(FILE_MODE)
                sync(partial)
                confirm()
                partial.replace(self._path(edition.number))
                sync(self.directory)
        finally:
            self.sweep()

    def remove(self, number: int) -> None:
        """See `Target`. A process that has the file open keeps it until it closes it."""
        with writable(self.directory):
            self._path(number).unlink(missing_ok=True)
            sync(self.directory)

    def sweep(self) -> None:
        """See `Target`; a directory that cannot be swept cannot be written either."""
        with suppress(OSError):
            for left in self.directory.glob(f".*{_PARTIAL}*"):
                left.unlink()

    def _path(self, number: int) -> Path:
        return self.directory / f"releases-{number}.duckdb"


@contextmanager
def writable(directory: Path) -> Iterator[None]:
    """Turns the system's refusals into errors that name the directory and hold no value."""
    if not (directory.is_dir() and os.access(directory, os.W_OK | os.X_OK)):
        actual = "which is not there, is no directory, or may not be written"
        raise InternalError("TARGET_UNWRITABLE", f"{shortened(str(directory))}: found one {actual}")
    try:
        yield
    except OSError as error:
        raise failed_writing(directory, error) from None


def _copy(session: Session, edition: Edition, copy: str) -> None:
    estimated = next((item.name for item in edition.items if item.kind is ObjectKind.ESTIMATED), "")
    spread = sorted(item.name for item in edition.items if item.kind is ObjectKind.SPREAD)
    places = {name: (schema, estimated) for name, schema in zip(spread, SPREAD_SCHEMAS[: len(spread)], strict=True)}
    for schema in {edition.schema, STATE_SCHEMA, *(schema for schema, _ in places.values())}:
        session.execute(f"CREATE SCHEMA IF NOT EXISTS {copy}.{render(identifier(schema))}")
    for item in edition.items:
        schema, name = places.get(item.name, (edition.schema, item.name))
        target = table(name, schema, copy)
        session.execute(create_table(target, edition.rows(session, item)))
        whole = render(target)
        if item.comment:
            session.execute(f"COMMENT ON TABLE {whole} IS {render(text(item.comment))}")
        for name, comment in item.column_comments.items():
            session.execute(f"COMMENT ON COLUMN {whole}.{render(identifier(name))} IS {render(text(comment))}")
    for macro in MACROS:
        session.execute(macro.created(copy))
    facts = {
        "number": cast(number(edition.number), "BIGINT"),
        "schema": text(edition.schema),
        "name": text(edition.name),
        "released": cast(text(edition.day.isoformat()), "DATE"),
        "format_version": number(FORMAT_VERSION),
    }
    described = exp.select(*(alias(value, name) for name, value in facts.items()))
    session.execute(create_table(table("release", STATE_SCHEMA, copy), described))
