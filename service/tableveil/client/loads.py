"""Rows on their way to the server: those of a local file, or any Arrow stream, in pieces."""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import duckdb
import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ParseError

from tableveil.backend import Session, alias, cast, column
from tableveil.backend.interrupter import Interrupter
from tableveil.convert.arrow_pieces import arrow_pieces
from tableveil.convert.loads import csv_format_from_proto, csv_format_to_proto, rejected_line_to_proto
from tableveil.errors import Fault, InternalError, InvalidError, shortened
from tableveil.loading import (
    MOST_COLUMNS,
    CsvFormat,
    LoadRows,
    RejectedLine,
    bytes_digest,
    check_unchanged,
    csv_rows,
    file_state,
    guarding,
    guess_csv,
    parquet_rows,
    reading_parquet,
)
from tableveil.v1 import table_service_pb2 as v1

# Rows; as many as DuckDB's own row groups have.
_ROWS_PER_BATCH = 122_880

_MOST_FILES = 500
"""All are open at once."""

ROWS_SHOWN = 5
"""The rows of a file that are shown as they are stored."""

StoredRows = Sequence[Sequence[str | None]]
"""Rows as texts of what is stored; None is NULL."""

Progress = Callable[[int], None]
"""Called with the number of rows sent."""


class LoadRequests:
    """The messages of a load, made as they are sent. Errors while they are made are kept: gRPC loses them."""

    def __init__(
        self,
        start: v1.LoadStart,
        reader: pa.RecordBatchReader,
        rejected: Callable[[], tuple[RejectedLine, ...]] = tuple,
        check_count: Callable[[int], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """After all rows were read, `rejected` is asked for the lines that were left out.

        `check_count` is called with their number, and raises an error if some are missing.
        """
        self._start = start
        self._reader = reader
        self._rejected = rejected
        self._check_count = check_count
        self._progress = progress
        self._sent = 0
        self._making = threading.Lock()
        self._ended = False
        self.failure: BaseException | None = None
        self.notes: tuple[str, ...] = ()
        self.first = reader.schema.empty_table()
        """The first rows that were sent."""

    def end(self) -> None:
        """Waits for the message that is being made; no other is made from then on.

        gRPC makes messages in a thread of its own, which does not notice at once that a call has failed.
        """
        self._ended = True
        with self._making:
            pass

    def __iter__(self) -> Iterator[v1.LoadTableRequest]:
        messages = self._made()
        while (message := self._next(messages)) is not None:
            yield message

    def _next(self, messages: Iterator[v1.LoadTableRequest]) -> v1.LoadTableRequest | None:
        with self._making:
            if self._ended:
                return None
            try:
                return next(messages, None)
            except BaseException as error:
                self.failure = error
                raise

    def _made(self) -> Iterator[v1.LoadTableRequest]:
        yield v1.LoadTableRequest(start=self._start)
        counted = pa.RecordBatchReader.from_batches(self._reader.schema, self._counted())
        for piece in arrow_pieces(counted):
            yield v1.LoadTableRequest(arrow_ipc=piece)
        rejected = map(rejected_line_to_proto, self._rejected())
        if self._check_count is not None:
            self._check_count(self._sent)
        yield v1.LoadTableRequest(end=v1.LoadEnd(row_count=self._sent, rejected_lines=rejected))

    def _counted(self) -> Iterator[pa.RecordBatch]:
        for batch in self._reader:
            if self.first.num_rows < ROWS_SHOWN:
                shown = batch.slice(0, ROWS_SHOWN - self.first.num_rows)
                self.first = pa.concat_tables([self.first, pa.Table.from_batches([shown])])
            yield batch
            self._sent += batch.num_rows
            if self._progress is not None:
                self._progress(self._sent)


@contextmanager
def file_requests(
    start: v1.LoadStart,
    file: v1.ServerFile,
    progress: Progress | None = None,
    most_columns: int = MOST_COLUMNS,
    show_lines: bool = False,
) -> Iterator[LoadRequests]:
    """The messages that load a file of this machine, or all that match a pattern; errors have values to `show_lines`.

    Raises:
        InvalidError: it cannot be read; nothing was sent.
    """
    paths = _found(Path(file.path).absolute())
    before = list(map(file_state, paths))
    read_start = v1.LoadStart(client_file=file)
    read_start.MergeFrom(start)
    read_start.client_file.path = Path(file.path).name
    if start.request_id:
        read_start.content_digest = bytes_digest(paths)
    with (
        guarding(paths, start.mode == v1.LOAD_MODE_REPLACE),
        _session() as session,
        _file_rows(session, paths, file, most_columns, show_lines) as rows,
        session.batches(rows.query, _ROWS_PER_BATCH) as reader,
    ):

        def check(count: int) -> None:
            rows.check_count(count)
            for path, state in zip(paths, before, strict=True):
                check_unchanged(path.name, state, file_state(path))

        requests = LoadRequests(read_start, reader, lambda: rows.rejected(session), check, progress)
        requests.notes = rows.notes
        try:
            with nullcontext() if file.HasField("csv") else reading_parquet(paths):
                yield requests
        finally:
            # The session must not be closed while another thread reads from it.
            requests.end()


@contextmanager
def _session() -> Iterator[Session]:
    """A database in memory, for this machine's files.

    Text that looks like a time counts as one in UTC; types that Arrow lacks travel as DuckDB's own. Nothing is spilled:
    by default the database would spill below the working directory, for everybody to read.
    """
    with duckdb.connect(config={"temp_directory": ""}) as connection, closing(Interrupter()) as interrupter:
        connection.execute("SET GLOBAL TimeZone = 'UTC'; SET GLOBAL arrow_lossless_conversion = true")
        # The command decides what a terminal shows.
        connection.execute("SET enable_progress_bar = false")
        with Session(connection, interrupter) as session:
            yield session


@dataclass(frozen=True, slots=True)
class GuessedFormat:
    """How a file seems to be written, sentences about what stays open, and the lines and cells of its first rows."""

    file: str
    format: v1.CsvFormat
    doubts: tuple[str, ...]
    columns: tuple[str, ...]
    first_rows: tuple[tuple[int, tuple[str, ...]], ...]


def guessed_format(
    path: str, stated: v1.CsvFormat, kept: Collection[str], most_columns: int = MOST_COLUMNS, replaces: bool = False
) -> GuessedFormat:
    """How a CSV file of this machine, or the first that matches a pattern, seems to be written.

    The fields `kept` stay as they are stated, by their names in `loading.CsvFormat`.

    Raises:
        InvalidError: it cannot be read.
    """
    file = _found(Path(path).absolute())[0]
    with guarding([file], replaces), _session() as session:
        guess = guess_csv(session, file, _csv_format(stated), kept, most_columns)
    return GuessedFormat(file.name, csv_format_to_proto(guess.format), guess.doubts, guess.columns, guess.first_rows)


def stored_rows(first: pa.Table, columns: Sequence[v1.ColumnInfo]) -> StoredRows:
    """The first rows of a load as the columns of its table store them, in their order; nothing is read from there."""
    own = {name.casefold(): name for name in first.column_names}
    sent = [(own[one.name.casefold()], one.type) for one in columns]
    with _session() as session, session.relation("first_rows", first):
        return _as_stored(session, "first_rows", sent)


def previewed_rows(
    path: Path, how: v1.CsvFormat, into: Sequence[v1.ColumnInfo] = (), most_columns: int = MOST_COLUMNS
) -> tuple[Sequence[v1.ColumnInfo], StoredRows]:
    """The columns of a CSV file, and its first rows as a new table would store them, or one of the columns `into`.

    Raises:
        InvalidError: it cannot be loaded in this format.
    """
    types = {one.name.casefold(): one.type for one in into}
    with _session() as session, csv_rows(session, [path], _csv_format(how), most_columns=most_columns) as rows:
        columns = [(name, types.get(name.casefold(), type_)) for name, type_ in rows.columns]
        shown = _as_stored(session, rows.query.limit(ROWS_SHOWN).subquery("rows_of_file"), columns)
    return [v1.ColumnInfo(name=name, type=type_) for name, type_ in columns], shown


def _as_stored(session: Session, rows: str | exp.Expr, columns: Sequence[tuple[str, str]]) -> StoredRows:
    """The rows as texts of these columns, each in its type."""
    try:
        return _as_texts(session, rows, [cast(column(name), type_) for name, type_ in columns])
    except (InternalError, ParseError):
        if len(columns) > 1:
            return [*zip(*([text for (text,) in _as_stored(session, rows, [one])] for one in columns), strict=True)]
        # The values of an ENUM, among others, are the table's alone; a value that does not fit will be refused.
        return _as_texts(session, rows, [column(name) for name, _ in columns])


def _as_texts(session: Session, rows: str | exp.Expr, values: Sequence[exp.Expr]) -> StoredRows:
    texts = [alias(cast(value, "VARCHAR"), f"c{i}") for i, value in enumerate(values)]
    return session.rows(exp.select(*texts).from_(rows))


def _found(path: Path) -> list[Path]:
    """The file of that name, or all whose names match it, in their order."""
    paths = [path] if path.is_file() else [Path(name) for name in sorted(glob(str(path))) if Path(name).is_file()]
    if not 0 < len(paths) <= _MOST_FILES:
        shown = shortened(path.name) + (f", which {len(paths):,} match" if paths else "")
        raise InvalidError.of("FILE_NOT_FOUND", "file", shown, f"a file, or a pattern of at most {_MOST_FILES} files")
    return paths


@contextmanager
def _file_rows(
    session: Session, paths: Sequence[Path], file: v1.ServerFile, most_columns: int, show_lines: bool
) -> Iterator[LoadRows]:
    if not file.HasField("csv"):
        yield parquet_rows(session, paths, most_columns)
        return
    with csv_rows(session, paths, _csv_format(file.csv), most_columns=most_columns, examples=show_lines) as rows:
        yield rows


def _csv_format(message: v1.CsvFormat) -> CsvFormat:
    faults: list[Fault] = []
    how = csv_format_from_proto(message, faults)
    if faults:
        raise InvalidError.about("CSV_FORMAT", "the CSV format is invalid", faults)
    return how
