"""Loads, as the service offers them: rows of a file or a stream into a table, all of them or none, and their ledger."""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from tableveil import loading
from tableveil.backend import Database, Ledger, Session, present_visibility, table
from tableveil.control import Control, Stopped
from tableveil.errors import (
    CancelledError,
    ConflictError,
    DeniedError,
    Fault,
    GuardedError,
    InternalError,
    InvalidError,
    NotFoundError,
    TableveilError,
    shortened,
)
from tableveil.operate import check_free_space
from tableveil.policy import TableReference
from tableveil.runtime.answered import check_request_id
from tableveil.runtime.manager import JobManager
from tableveil.source.tables import described_table, find_schema, invalid, without_values
from tableveil.state import loads as store
from tableveil.state.jobs import now
from tableveil.state.loads import Load, LoadMode
from tableveil.state.seen import UNHIDDEN

logger = logging.getLogger("tableveil.jobs")

_INCOMING = "tableveil_incoming"

_PARQUET_PER_DATABASE = 10
"""The bytes of Parquet, which is compressed already, that may become one byte in the database, and hardly less.

There is no such bound for CSV and streams: empty and equal values take next to nothing.
"""


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The request of a load. The rows come from the file at the path if it has a format.

    Else the `path` says, for the ledger, where the client has them from.
    `origin` is the file, the server's or the client's, and its format, as JSON: repeated requests with one id agree on
    it, and on the content, which for a client's file is its `content_digest`. If `columns_changed`, a table
    to replace is made anew.
    """

    target: TableReference
    mode: LoadMode
    request_id: str = ""
    path: str = ""
    file_format: loading.FileFormat | None = None
    origin: str = ""
    content_digest: str = ""
    columns_changed: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of a load; `repeated` if an earlier request with this id did it."""

    load: Load
    rejected: tuple[loading.RejectedLine, ...] = ()
    repeated: bool = False
    notes: tuple[str, ...] = ()


class Stream(Protocol):
    """Rows that come with a call."""

    @property
    def reader(self) -> pa.RecordBatchReader:
        """The rows, in the order of arrival."""
        ...

    def end(self) -> tuple[int, tuple[loading.RejectedLine, ...]]:
        """The expected number of rows, and the lines that were left out; raises the error that broke the stream."""
        ...


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A load whose target may take it, and is `existing` or not. It `started` then, and its `digest` is recorded."""

    request: LoadRequest
    target: TableReference
    existing: bool
    digest: str
    started: float


class Loads:
    """Loads tables. May be used from any thread."""

    def __init__(
        self,
        database: Database,
        jobs: JobManager,
        directories: Sequence[loading.LoadDirectory] = (),
        most_columns: int = loading.MOST_COLUMNS,
    ) -> None:
        self._database = database
        self._uses = jobs.uses
        self._directories = tuple(directories)
        self._most_columns = most_columns
        self._running: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def get(self, number: int) -> Load:
        """The load of that number; `NotFoundError` if there is none that its caller may see."""
        with self._database.ledger() as ledger:
            load = store.LOADS.find(ledger, number)
        if load is None:
            raise NotFoundError.of("LOAD_NOT_FOUND", "name", f"loads/{number}", "an existing load")
        return load

    def page(self, before: int | None, size: int, into: TableReference | None = None) -> list[Load]:
        """The next `size` loads with numbers below `before`, into a table if it is named, newest first."""
        only = UNHIDDEN if into is None else store.into(into.schema or "main", into.table)
        with self._database.ledger() as ledger:
            return store.LOADS.page(ledger, before, size, only)

    def load(self, request: LoadRequest, stream: Callable[[], Stream], control: Control) -> Loaded:
        """Loads the requested rows; `stream` opens the rows that come with the call.

        Raises:
            InvalidError: the rows cannot be read, or do not fit.
            GuardedError: there are none, and they would replace some.
            ConflictError: the table exists already, an unfinished job reads the table, the request id named a load of
                something else, or one whose rows were replaced or removed, or the file was changed meanwhile.
            BusyError: the disk is full.
            CancelledError: `control` says to stop.
        """
        started = time.monotonic()
        check_request_id(request.request_id)
        with self._database.session() as session, self._once(session.visibility.principal, request.request_id):
            session.control = control
            try:
                target = found_target(session, request.target, existing=request.mode is LoadMode.APPEND)
                self._check_room()
                source = stream() if request.file_format is None else None
                digest = _digest(request, source)
                if (earlier_load := _known(session.ledger, request, target, digest)) is not None:
                    # The answer tells of others' loads of the table.
                    check_permitted(target)
                    loading.check_standing(session.ledger, earlier_load)
                    return Loaded(
                        earlier_load, repeated=True, notes=self._compared(session, request, source, earlier_load)
                    )
                existing = request.mode is LoadMode.APPEND or (
                    request.mode is LoadMode.REPLACE and loading.found_place(session, target) is not None
                )
                loading.check_place(session, target, existing)
                self._uses.check_unread(target)
                with ExitStack() as until_committed, session.transaction():
                    admitted = _Admitted(request, target, existing, digest, started)
                    number, rejected, notes = self._write(session, admitted, source)
                    # A job may have been submitted meanwhile; from here on, none is.
                    until_committed.enter_context(self._uses.unread(target))
                    check_permitted(target)
            except Stopped:
                raise CancelledError("CANCELLED", "the load was cancelled, and nothing was loaded") from None
        return Loaded(self._look(number), rejected, notes=notes)

    def _write(
        self, session: Session, admitted: _Admitted, source: Stream | None
    ) -> tuple[int, tuple[loading.RejectedLine, ...], tuple[str, ...]]:
        """Loads and records the load, and returns its number, lines and notes; call it in a transaction."""
        request, target, existing = admitted.request, admitted.target, admitted.existing
        with self._rows(session, request, source) as (rows, content):

            def look(came: exp.Table) -> None:
                nonlocal content
                _, content = loading.content_of_rows(session, came, rows.columns)

            seen = look if request.request_id and content is None else None
            takes_out = loading.drop_table if request.columns_changed else loading.empty
            removed = takes_out(session, target) if existing and request.mode is LoadMode.REPLACE else 0
            if existing and not request.columns_changed:
                count = loading.append(session, target, rows.query, rows.columns, seen)
            else:
                count = loading.create(session, target, rows.query, seen)
            rejected = rows.rejected(session)
            rows.check_count(count)
        if source is not None:
            _check_complete(count, source.end()[0])
        if removed and not count:
            raise GuardedError.of(
                "GUARDED",
                "rows",
                f"none, in place of the {removed:,} of {shortened(target.table)}",
                "at least one row",
                "The extract may have failed. To empty a table on purpose, truncate it.",
            )
        number = store.LOADS.next_number(session.ledger)
        load = Load(
            number,
            request.request_id,
            admitted.digest,
            target.schema,
            target.table,
            request.mode,
            request.path,
            now(),
            count,
            len(rejected),
            tuple((name, without_values(type_)) for name, type_ in described_table(session, target)),
            time.monotonic() - admitted.started,
            session.visibility.principal,
            removed,
            content,
        )
        store.LOADS.insert(session.ledger, [load])
        return number, rejected, rows.notes

    def _compared(
        self, session: Session, request: LoadRequest, source: Stream | None, earlier: Load
    ) -> tuple[str, ...]:
        """Notes, if nobody can tell whether the earlier load has the content that is sent again, which is read.

        Raises:
            ConflictError: it has another content.
        """
        name, untold = f"loads/{earlier.number}", "is of a version that did not compare what is loaded"
        if earlier.content is None:
            return (f"{name} {untold}: whether this is the same is not known.",)
        with ExitStack() as opened:
            if request.content_digest:
                content = loading.content_of_files(session, request.content_digest)
            elif source is None:
                path = opened.enter_context(self._file(session, request))
                content = loading.content_of_files(session, loading.bytes_digest([path], session.control))
            else:
                rows = opened.enter_context(_incoming(session, source, self._most_columns))
                count, content = loading.content_of_rows(session, rows.query.subquery("sent"), rows.columns)
                _check_complete(count, source.end()[0])
        if not loading.is_comparable(earlier.content, content):
            return (f"{name} {untold} in this way: whether this is the same is not known.",)
        if earlier.content != content:
            what = "other rows" if content.startswith("rows") else "a file of other content"
            hint = f"{name} stands. To go on with it, bind the release to it; to load this, use another request id."
            raise _reused(request, earlier, f" from {what}", hint)
        return ()

    @contextmanager
    def _rows(
        self, session: Session, request: LoadRequest, stream: Stream | None
    ) -> Iterator[tuple[loading.LoadRows, str | None]]:
        """The rows, and the content of their files, if a digest of these tells it."""
        if stream is not None:
            content = loading.content_of_files(session, request.content_digest) if request.content_digest else None
            with _incoming(session, stream, self._most_columns) as rows:
                yield rows, content
            return
        with self._file(session, request) as path:
            content = None
            if request.request_id:
                content = loading.content_of_files(session, loading.bytes_digest([path], session.control))
            if isinstance(request.file_format, loading.CsvFormat):
                with loading.csv_rows(
                    session, [path], request.file_format, self._database.spill_directory, self._most_columns
                ) as rows:
                    yield rows, content
            else:
                self._check_room(path.stat().st_size // _PARQUET_PER_DATABASE)
                with loading.reading_parquet([path]):
                    yield loading.parquet_rows(session, [path], self._most_columns), content

    @contextmanager
    def _file(self, session: Session, request: LoadRequest) -> Iterator[Path]:
        """The server's file, which must not change while it is open."""
        directories = [own.path for own in self._directories if session.visibility.owned.has_schema(own.schema)]
        with (
            loading.allowed_file(request.path, directories) as path,
            loading.guarding([path], request.mode is LoadMode.REPLACE),
        ):
            yield path

    def _check_room(self, wanted: int = 0) -> None:
        check_free_space(self._database.path.parent, "database file system", wanted)

    @contextmanager
    def _once(self, principal: str, request_id: str) -> Iterator[None]:
        """Blocks a principal's second request with this id until the first has ended."""
        own = principal, request_id
        with self._lock:
            if own in self._running:
                raise ConflictError.of(
                    "LOAD_RUNNING",
                    "request_id",
                    f"{shortened(request_id)}, by which a table is being loaded",
                    "one load at a time for each request id",
                    "Ask again when it has ended.",
                )
            if request_id:
                self._running.add(own)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(own)

    def _look(self, number: int) -> Load:
        """Checks that the load exists: a commit's success is no proof that anything was written."""
        with self._database.ledger() as ledger:
            load = store.LOADS.find(ledger, number)
        if load is None:
            raise InternalError("NOT_LOADED", "the commit left nothing behind")
        logger.info("%s.%s: %d rows loaded", load.schema, load.table, load.rows)
        return load


def check_permitted(target: TableReference) -> None:
    """Raises `DeniedError` if the right to change the table was revoked while that went on."""
    if not present_visibility()().owned.has_table(target.schema, target.table):
        raise DeniedError("PERMISSION_DENIED", "the right to change this table was revoked; nothing was changed")


def found_target(session: Session, wanted: TableReference, existing: bool) -> TableReference:
    """The full name of a table that may be made, or that exists.

    Raises:
        InvalidError: no such name is possible.
        NotFoundError: there is no such schema for a table that exists.
    """
    target, faults = find_schema(session, wanted, "table")
    if target is None or not wanted.table or "\0" in wanted.table:
        actual = shortened(wanted.table) if wanted.table else "nothing"
        unnamed = [Fault("table.table", actual, "the name of a table, without a null character")]
        about = invalid if existing else InvalidError.about
        raise about("TABLE_INVALID", "there can be no such table", faults or unnamed)
    return target


def _digest(request: LoadRequest, source: Stream | None) -> str:
    """Identifies the origin of the rows and, for those that come with a call, the columns."""
    columns = [[field.name, str(field.type)] for field in source.reader.schema] if source is not None else []
    return hashlib.sha256(json.dumps([request.origin, columns]).encode()).hexdigest()


def _known(ledger: Ledger, request: LoadRequest, target: TableReference, digest: str) -> Load | None:
    """The load that the request id names; raises `ConflictError` if it is another one."""
    read_request = store.find_request(ledger, request.request_id) if request.request_id else None
    if read_request is None:
        return None
    same_place = (read_request.schema, read_request.table, read_request.mode) == (
        target.schema,
        target.table,
        request.mode,
    )
    if not same_place or read_request.request_digest != digest:
        how = " from another file, in another format, or with other columns" if same_place else ""
        raise _reused(request, read_request, how)
    return read_request


def _reused(request: LoadRequest, earlier: Load, how: str, hint: str = "") -> TableveilError:
    return ConflictError.of(
        "REQUEST_ID_REUSED",
        "request_id",
        f"{shortened(request.request_id)}, by which loads/{earlier.number} loaded {shortened(earlier.table)}{how}",
        "a request id of its own for every load",
        hint,
    )


@contextmanager
def _incoming(session: Session, stream: Stream, most_columns: int) -> Iterator[loading.LoadRows]:
    """The stream as rows. The stream's own error replaces the database's account of it."""
    # The database silently renames columns that differ from another only in case.
    loading.check_names(stream.reader.schema.names, most_columns)
    query = exp.select("*").from_(table(_INCOMING))
    # Looking at the columns must not take batches from the stream.
    with session.relation(_INCOMING, stream.reader.schema.empty_table()):
        columns = loading.check_types(session, query)
    try:
        with session.relation(_INCOMING, stream.reader):
            yield loading.LoadRows(query, columns, lambda _: stream.end()[1])
    except InternalError as error:
        if error.code == "DATABASE_ERROR":
            stream.end()
        raise


def _check_complete(found: int, announced: int) -> None:
    if found != announced:
        raise InvalidError.of(
            "STREAM_INCOMPLETE",
            "end.row_count",
            f"{found:,} rows",
            f"the {announced:,} that were announced",
            "The stream was cut off; nothing was loaded.",
        )
