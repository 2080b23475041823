"""A directory of Parquet files: a link by the name of each release leads to the files of its latest one."""

import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from sqlglot import exp

from tableveil.answers import MACROS
from tableveil.backend import Session, alias, cast, column, file_name, identifier, render, text
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.operate.disk import sync
from tableveil.publishing.directory import FILE_MODE, writable
from tableveil.publishing.edition import Edition, Item
from tableveil.state.release_objects import ObjectKind

# DuckDB would write other values: doubles, texts, times of another zone, no microseconds.
_UNFIT = re.compile(r"\b(HUGEINT|UHUGEINT|BIGNUM|BIT|TIME WITH TIME ZONE|INTERVAL|UNION|VARIANT)\b")
_LABELS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_AS_DECIMAL = {"HUGEINT": "DECIMAL(38,0)"}


class ParquetTarget:
    """Writes files into a hidden directory, and points the link there once all of them are safe on the disk."""

    def __init__(self, directory: Path, partition_by: tuple[str, ...] = ()) -> None:
        self.directory = directory
        self._partition_by = partition_by

    def faults(self, items: Iterable[Item]) -> list[Fault]:
        """Types that Parquet has not, and released rows without the columns by which they are to be partitioned."""
        return [fault for item in items for fault in self._faults(item)]

    def publish(self, session: Session, read: Callable[[], Edition], confirm: Callable[[], None]) -> None:
        """See `Target`."""
        self.sweep()
        try:
            with writable(self.directory), session.transaction(elsewhere=True):
                edition = read()
                if faults := self.faults(edition.items):
                    raise InvalidError.about("TARGET_UNFIT", "Parquet cannot hold the release as it is", faults)
                made = self.directory / f".releases-{edition.number}-{secrets.token_hex(8)}"
                made.mkdir(mode=0o750)
                for item in edition.items:
                    self._write(session, edition, item, made / file_name(item.name))
                functions = ";\n".join(macro.created().strip() for macro in MACROS)
                (made / "functions.sql").write_text(f"{functions};\n", encoding="utf-8")
                for path in [*made.rglob("*"), made]:
                    if path.is_file():
                        path.chmod(FILE_MODE)
                    sync(path)
                confirm()
                link = made.with_name(f"{made.name}.link")
                link.symlink_to(made.name)
                link.replace(self.directory / f"{file_name(edition.schema)}.{file_name(edition.name)}")
                sync(self.directory)
        finally:
            self.sweep()

    def remove(self, number: int) -> None:
        """See `Target`. A process that reads a file reads on until it closes it."""
        with writable(self.directory):
            for link in self._links():
                if link.readlink().name.startswith(f".releases-{number}-"):
                    link.unlink()
            sync(self.directory)
        self.sweep()

    def sweep(self) -> None:
        """Removes the files that no link leads to: half-written, replaced and withdrawn ones."""
        with suppress(OSError):
            kept = {link.readlink().name for link in self._links()}
            for left in self.directory.glob(".releases-*"):
                if left.is_symlink():
                    left.unlink()
                elif left.name not in kept:
                    shutil.rmtree(left)

    def _links(self) -> Iterator[Path]:
        return (path for path in self.directory.iterdir() if path.is_symlink() and not path.name.startswith("."))

    def _faults(self, item: Item) -> Iterator[Fault]:
        shown = shortened(item.name)
        for name, type_ in item.columns:
            if type_ not in _AS_DECIMAL and _UNFIT.search(_LABELS.sub("", type_)):
                hint = "Let a source_query cast the column, or leave it out."
                yield Fault(
                    item.field_of(name),
                    f"a column {shortened(name)} of type {shortened(type_)}",
                    "a type of Parquet",
                    hint,
                )
        if item.kind is ObjectKind.ROWS:
            names = [name for name, _ in item.columns]
            for name in self._partition_by:
                if name not in names:
                    yield Fault(shown, f"no column {shortened(name)}", "the columns by which the target is partitioned")
            if not set(names) - set(self._partition_by):
                yield Fault(shown, "no other columns", "at least one beside those by which the target is partitioned")

    def _write(self, session: Session, edition: Edition, item: Item, path: Path) -> None:
        """Writes one file, or a directory of them where the rows are partitioned."""
        read = [
            alias(cast(column(name), _AS_DECIMAL[type_]), name) if type_ in _AS_DECIMAL else column(name)
            for name, type_ in item.columns
        ]
        rows = exp.select(*read).from_(edition.rows(session, item).subquery("released"))
        facts = ", ".join(f"{name}: {render(text(value))}" for name, value in edition.facts.items())
        options = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{facts}}}"
        if item.kind is ObjectKind.ROWS and self._partition_by:
            options += f", PARTITION_BY ({', '.join(render(identifier(name)) for name in self._partition_by)})"
        target = render(text(str(path.with_name(f"{path.name}.parquet"))))
        session.execute(f"COPY ({render(rows)}) TO {target} ({options})")
