"""The directory of published releases, one file each, and the tables in them."""

import hashlib
import logging
import os
import time
import uuid
import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tableveil.answers import SPREAD_SCHEMAS
from tableveil.backend import folded
from tableveil.endpoint.information import PublishedTable, write_information
from tableveil.endpoint.query_process import file_of
from tableveil.endpoint.query_processes import QueryProcesses, schema_from
from tableveil.endpoint.remembered import Remembered
from tableveil.endpoint.running import RunningQuery
from tableveil.errors import TableveilError

logger = logging.getLogger("tableveil.endpoint")

_OWN_SCHEMAS = ("tableveil", *SPREAD_SCHEMAS)
_SECONDS_TO_READ = 60.0
_MOST_FILES = 10_000
_MOST_LISTINGS = 64
"""Sets of tables that are remembered: one for all callers with the same grants."""


@dataclass(frozen=True, eq=False)
class ListedTables:
    """The tables of some releases, by schema and name, and what the calls need of all of them. It does not change.

    With hundreds of releases, putting it together takes longer than most queries: so it is made once. Listings with the
    same key have the same tables.
    """

    tables: Sequence[PublishedTable]
    key: str
    directory: Path

    @cached_property
    def named(self) -> list[tuple[str, str, int]]:
        """The folded schema and name of each table, and the number of its release."""
        return [(*table.folded_name, table.release) for table in self.tables]

    @cached_property
    def information(self) -> str:
        """The file of the columns, for the views of `information_schema`; it lives as long as the listing.

        It is written into the directory when it is first asked for.
        """
        file = self.directory / f"{uuid.uuid4().hex}.arrow"
        write_information(self.tables, file)
        weakref.finalize(self, file.unlink, missing_ok=True)
        return str(file)


class Published:
    """Looks into each file once. Used from any thread."""

    def __init__(self, directory: Path, processes: QueryProcesses) -> None:
        self.directory = directory.absolute()
        self._processes = processes
        self._files: Remembered[tuple[PublishedTable, ...]] = Remembered(_MOST_FILES)
        self._listings: Remembered[ListedTables] = Remembered(_MOST_LISTINGS)

    def stamp(self) -> object:
        """Changes whenever a file is published or removed."""
        try:
            return self.directory.stat().st_mtime_ns
        except OSError:
            return None

    def tables(self, releases: Collection[int]) -> ListedTables:
        """The tables of those releases whose files are there, by schema and name."""
        files = [(release, stamp) for release in sorted(releases) if (stamp := self._stamp(release)) is not None]
        key = hashlib.sha256(repr(files).encode()).hexdigest()
        if (listing := self._listings.get(key)) is not None:
            return listing
        # A later release with a table of that name has replaced the earlier one.
        tables = {table.folded_name: table for file in files for table in self._tables_of(*file)}
        listing = ListedTables([tables[name] for name in sorted(tables)], key, self._processes.spilled.path)
        self._listings.keep(key, listing)
        return listing

    def _stamp(self, release: int) -> tuple[int, ...] | None:
        """By which one file of a release differs from another one; None without a file."""
        try:
            status = os.stat(file_of(self.directory, release))
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _tables_of(self, release: int, stamp: tuple[int, ...]) -> tuple[PublishedTable, ...]:
        if (tables := self._files.get((release, stamp))) is None:
            tables = self._read(release)
            self._files.keep((release, stamp), tables)
        return tables

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
