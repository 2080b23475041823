"""The directory of published releases, one file each, and the tables in them."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
import time
import uuid
import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from tableveil.answers import SPREAD_SCHEMAS
from tableveil.backend import folded
from tableveil.endpoint.information import CATALOG, REMARKS, write_information
from tableveil.endpoint.query_process import file_of
from tableveil.endpoint.query_processes import QueryProcesses, schema_from
from tableveil.endpoint.remembered import Remembered
from tableveil.endpoint.running import RunningQuery
from tableveil.errors import TableveilError

logger = logging.getLogger("tableveil.endpoint")

_FILE = re.compile(r"releases-([1-9][0-9]{0,17})\.duckdb")
_OWN_SCHEMAS = ("tableveil", *SPREAD_SCHEMAS)
_SECONDS_TO_READ = 60.0
_MOST_LISTINGS = 64
"""Sets of tables that are remembered: one for all callers with the same grants."""


@dataclass(frozen=True)
class PublishedTable:
    """A table of a release, with its columns in Arrow's types; their metadata tell DuckDB's types, and the comments."""

    release: int
    schema: str
    name: str
    columns: pa.Schema
    comment: str = ""

    @cached_property
    def folded_name(self) -> tuple[str, str]:
        """The schema and the name by which statements find it."""
        return folded(self.schema), folded(self.name)

    @cached_property
    def described(self) -> bytes:
        """The columns, each with what Flight SQL tells of columns, in Arrow's format."""
        place = {
            "ARROW:FLIGHT:SQL:CATALOG_NAME": CATALOG,
            "ARROW:FLIGHT:SQL:DB_SCHEMA_NAME": self.schema,
            "ARROW:FLIGHT:SQL:TABLE_NAME": self.name,
            "ARROW:FLIGHT:SQL:IS_READ_ONLY": "1",
            "ARROW:FLIGHT:SQL:IS_SEARCHABLE": "1",
        }
        columns = [column.with_metadata({**(column.metadata or {}), **place}) for column in self.columns]
        comment = {REMARKS: self.comment} if self.comment else None
        return bytes(pa.schema(columns, comment).serialize())


@dataclass(frozen=True, eq=False)
class ListedTables:
    """The tables of some releases, by schema and name, and what the calls need of all of them. It does not change.

    With hundreds of releases, putting it together takes longer than most queries: so it is made once. Listings with the
    same key have the same tables.
    """

    tables: Sequence[PublishedTable]
    key: str
    directory: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def named(self) -> list[tuple[str, str, int]]:
        """The folded schema and name of each table, and the number of its release."""
        return [(*table.folded_name, table.release) for table in self.tables]

    @property
    def information(self) -> str:
        """The file of the columns, for the views of `information_schema`; it lives as long as the listing.

        It is written into the directory when it is first asked for.
        """
        with self._lock:
            return self._information

    @cached_property
    def _information(self) -> str:
        file = self.directory / f"{uuid.uuid4().hex}.arrow"
        write_information(self.tables, file)
        weakref.finalize(self, file.unlink, missing_ok=True)
        return str(file)


class Published:
    """Looks into each file once. Used from any thread."""

    def __init__(self, directory: Path, processes: QueryProcesses) -> None:
        self.directory = directory.absolute()
        self._processes = processes
        self._lock = threading.Lock()
        self._known: dict[int, tuple[object, tuple[PublishedTable, ...]]] = {}
        self._listings: Remembered[ListedTables] = Remembered(_MOST_LISTINGS)

    def stamp(self) -> object:
        """Changes whenever a file is published or removed."""
        try:
            return self.directory.stat().st_mtime_ns
        except OSError:
            return None

    def tables(self, releases: Collection[int]) -> ListedTables:
        """The tables of those releases whose files are there, by schema and name."""
        read = {release: self._tables_of(release) for release in sorted(self._there().intersection(releases))}
        stamps = repr([(release, stamp) for release, (stamp, _) in read.items()])
        key = hashlib.sha256(stamps.encode()).hexdigest()
        if (listing := self._listings.get(key)) is not None:
            return listing
        tables: dict[tuple[str, str], PublishedTable] = {}
        for _, of_release in read.values():
            for table in of_release:
                # A later release with a table of that name has replaced the earlier one.
                tables[table.folded_name] = table
        listing = ListedTables([tables[name] for name in sorted(tables)], key, self._processes.directory)
        self._listings.keep(key, listing)
        return listing

    def _there(self) -> set[int]:
        try:
            names = os.listdir(self.directory)
        except OSError:
            return set()
        there = {int(match[1]) for name in names if (match := _FILE.fullmatch(name))}
        with self._lock:
            self._known = {
                release: published_file for release, published_file in self._known.items() if release in there
            }
        return there

    def _tables_of(self, release: int) -> tuple[object, tuple[PublishedTable, ...]]:
        """A stamp, by which one file of a release differs from another one, and its tables."""
        try:
            status = os.stat(file_of(self.directory, release))
        except OSError:
            return None, ()
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        with self._lock:
            remembered = self._known.get(release)
        if remembered is None or remembered[0] != stamp:
            remembered = stamp, self._read(release)
            with self._lock:
                self._known[release] = remembered
        return remembered

    def _read(self, release: int) -> tuple[PublishedTable, ...]:
        query = RunningQuery()
        query.limit(time.monotonic() + _SECONDS_TO_READ)
        process = self._processes.open({"file": file_of(self.directory, release)}, query)
        try:
            answer = process.answer()
        except TableveilError as error:
            logger.error("releases/%d is left out: its file cannot be read (%s)", release, type(error).__name__)
            return ()
        finally:
            self._processes.release(process)
        return tuple(
            PublishedTable(release, schema, name, schema_from(columns), comment)
            for schema, name, comment, columns in answer["tables"]
            if folded(schema) not in _OWN_SCHEMAS
        )
