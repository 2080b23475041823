"""The directory of published releases, one file each, and the tables in them."""

from __future__ import annotations

import base64
import logging
import re
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tableveil.backend import folded
from tableveil.control import Control
from tableveil.endpoint.pipes import Ended
from tableveil.endpoint.query_processes import QueryProcesses, schema_from
from tableveil.errors import TableveilError

logger = logging.getLogger("tableveil.endpoint")

_FILE = re.compile(r"releases-([1-9][0-9]{0,17})\.duckdb")
_OWN_SCHEMA = "tableveil"
_SECONDS_TO_READ = 60.0


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a release, with its columns in Arrow's types; their metadata tell DuckDB's types, and the comments."""

    release: int
    schema: str
    name: str
    columns: pa.Schema
    comment: str = ""


class Published:
    """Looks into each file once. Used from any thread."""

    def __init__(self, directory: Path, processes: QueryProcesses) -> None:
        self._directory = directory.absolute()
        self._processes = processes
        self._lock = threading.Lock()
        self._known: dict[int, tuple[object, tuple[PublishedTable, ...]]] = {}

    def stamp(self) -> object:
        """Changes whenever a file is published or removed."""
        try:
            return self._directory.stat().st_mtime_ns
        except OSError:
            return None

    def file(self, release: int) -> Path:
        """The file of a release, which may not be there."""
        return self._directory / f"releases-{release}.duckdb"

    def tables(self, releases: Collection[int]) -> list[PublishedTable]:
        """The tables of those releases whose files are there, by schema and name."""
        tables: dict[tuple[str, str], PublishedTable] = {}
        for release in sorted(self._there().intersection(releases)):
            for table in self._tables_of(release):
                # A later release with a table of that name has replaced the earlier one.
                tables[folded(table.schema), folded(table.name)] = table
        return [tables[name] for name in sorted(tables)]

    def _there(self) -> set[int]:
        try:
            names = [path.name for path in self._directory.iterdir()]
        except OSError:
            return set()
        there = {int(match[1]) for name in names if (match := _FILE.fullmatch(name))}
        with self._lock:
            self._known = {
                release: published_file for release, published_file in self._known.items() if release in there
            }
        return there

    def _tables_of(self, release: int) -> tuple[PublishedTable, ...]:
        try:
            status = self.file(release).stat()
        except OSError:
            return ()
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        with self._lock:
            remembered = self._known.get(release)
        if remembered is None or remembered[0] != stamp:
            remembered = stamp, self._read(release)
            with self._lock:
                self._known[release] = remembered
        return remembered[1]

    def _read(self, release: int) -> tuple[PublishedTable, ...]:
        control = Control()
        control.limit(time.monotonic() + _SECONDS_TO_READ)
        process = self._processes.open({"file": str(self.file(release))}, control)
        try:
            answer = process.answer()
        except (TableveilError, Ended) as error:
            logger.error("releases/%d is left out: its file cannot be read (%s)", release, type(error).__name__)
            return ()
        finally:
            self._processes.release(process)
        return tuple(
            PublishedTable(release, schema, name, schema_from(columns), comment)
            for schema, name, comment, columns in answer["tables"]
            if folded(schema) != _OWN_SCHEMA
        )


def encoded(schema: pa.Schema) -> str:
    """A schema as text."""
    return base64.b64encode(schema.serialize()).decode()
