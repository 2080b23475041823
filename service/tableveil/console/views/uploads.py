"""Uploads: a file from a browser, what was guessed of it, corrections, and its way into a table."""

from __future__ import annotations

import os
import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from gzip import GzipFile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from starlette.datastructures import FormData
from starlette.responses import Response

from tableveil.client.names import table_reference
from tableveil.console.faults import placed
from tableveil.console.live import PagePart, live
from tableveil.console.render import fragment
from tableveil.console.sessions import FilePreview, Sessions, Upload, VisitorSession
from tableveil.console.visit import Endpoint, Visit, status_of
from tableveil.errors import InvalidError, NotFoundError, TableveilError
from tableveil.loading.unpacked import GZIP
from tableveil.v1 import table_service_pb2 as v1

if TYPE_CHECKING:
    from tableveil.client.loads import GuessedFormat

_MODES = {"create": "refuse", "append": "add the rows to it", "replace": "put the rows in place of its rows"}
_UPLOADED = {"file": "file", "table": r"table(\..*)?", "mode": "mode"}
_STATED = {
    "encoding_name": "(format\\.)?encoding(_name)?",
    **{name: rf"(format\.)?{name}" for name in ("delimiter", "quote", "date_format", "timestamp_format")},
    "null_texts": r"(format\.)?null_texts?.*",
    "text_columns": r"(format\.)?types.*",
    "century_pivots": r"century_pivots",
    "max_rejected": r"((format\.)?max_rejected|(.*, )?lines?\b.*)",
}
_SECONDS_BETWEEN = 0.5
_ROWS_SHOWN = 5
_MOST_TIMES, _ALWAYS_UNPACKED = 100, 64 * 2**20
_MOST_DIGITS = 9


def form(visit: Visit) -> Response:
    """Asks for a file and a table."""
    return _form(visit)


def _form(visit: Visit, error: TableveilError | None = None) -> Response:
    faults = placed(error, _UPLOADED)
    status = 200 if error is None else status_of(error)
    return visit.page(
        "upload.html", status, faults=faults, modes=_MODES, table=visit.text("table"), mode=visit.text("mode")
    )


def receive(visit: Visit) -> Response:
    """Keeps the file, in a directory that only the console reads, until it is loaded."""
    file, table, mode = visit.file("file"), visit.text("table"), visit.text("mode")
    try:
        if file is None or not file.filename:
            raise InvalidError.of("FILE_MISSING", "file", "nothing", "a CSV or Parquet file")
        if not table:
            raise InvalidError.of("TABLE_MISSING", "table", "nothing", "a name, such as visits or clinic.visits")
        if mode not in _MODES:
            raise InvalidError.of("MODE_INVALID", "mode", "another one", f"one of {', '.join(_MODES)}")
        _check_ratio(file.file)
    except TableveilError as error:
        return _form(visit, error)
    number = max(visit.session.uploads, default=0) + 1
    # The browser's name for it is for people alone: it may hold a path.
    suffix = ".parquet" if file.filename.lower().endswith((".parquet", ".pq")) else ".csv"
    path = visit.session.files / f"{number}{suffix}"
    with path.open("xb") as kept:
        shutil.copyfileobj(file.file, kept, 2**20)
    visit.session.uploads[number] = Upload(number, path, Path(file.filename).name, table, mode)
    return visit.go(f"/uploads/{number}")


def _check_ratio(file: BinaryIO) -> None:
    """Raises `InvalidError` for a packed file that is unreasonably large when it is unpacked, or damaged."""
    is_packed = file.read(2) == GZIP
    packed = file.seek(0, os.SEEK_END)
    file.seek(0)
    if not is_packed:
        return
    unpacked, most = 0, max(_MOST_TIMES * packed, _ALWAYS_UNPACKED)
    try:
        with GzipFile(fileobj=file, mode="rb") as content:
            while unpacked <= most and (piece := content.read(2**20)):
                unpacked += len(piece)
    except (EOFError, OSError, zlib.error):
        raise InvalidError.of("CSV_UNREADABLE", "file", "gzip that is damaged or cut off", "a whole file") from None
    file.seek(0)
    if unpacked > most:
        actual = f"more than {most:,} bytes when it is unpacked, of {packed:,}"
        hint = "Unpack it, or load it by the command line: tableveil load."
        raise InvalidError.of("FILE_PACKED", "file", actual, f"at most {_MOST_TIMES} times its size", hint)


def preview(visit: Visit) -> Response:
    """Shows what was guessed, and five rows; or how far the load is."""
    upload = _upload(visit)
    # It may end while the page is made.
    if (running := upload.running) or upload.load:
        return visit.page("loading.html", upload=upload, running=running)
    failure = upload.failure if isinstance(upload.failure, TableveilError) else None
    if upload.path.suffix == ".parquet":
        return visit.page("preview.html", upload=upload, guess=None, faults=placed(failure, _STATED))
    # The centuries of a table must not depend on the days of its loads.
    kept = ["century_pivots"] if upload.mode == "append" else []
    if upload.guess is None:
        try:
            upload.guess = visit.client.guess_csv_format(upload.path, kept=kept)
        except TableveilError as error:
            upload.guess = error
    if isinstance(upload.guess, TableveilError):
        raise upload.guess
    how = upload.stated if isinstance(upload.stated, v1.CsvFormat) else upload.guess.format
    shown = _previewed(visit, upload, upload.guess, how)
    faults = placed(failure or shown.failure, _STATED)
    return visit.page("preview.html", upload=upload, guess=upload.guess, how=how, shown=shown, faults=faults)


def _previewed(visit: Visit, upload: Upload, guess: GuessedFormat, how: v1.CsvFormat) -> FilePreview:
    """The first rows as they would be stored, with the file's own text where it differs."""
    from tableveil.client.loads import previewed_rows

    key = how.SerializeToString(deterministic=True)
    if key not in upload.previews:
        upload.previews.clear()
        raw = [list(cells) for _, cells in guess.first_rows[:_ROWS_SHOWN]]
        try:
            columns, rows = previewed_rows(upload.path, how, _columns_there(visit, upload))
        except TableveilError as error:
            upload.previews[key] = FilePreview(list(guess.columns), raw, error)
        else:
            same = len(raw) == len(rows) and not how.max_rejected
            written = [[*own, *[None] * len(columns)] for own in (raw if same else [[]] * len(rows))]
            cells = [list(map(_beside, row, own)) for row, own in zip(rows, written, strict=True)]
            upload.previews[key] = FilePreview([f"{one.name} {one.type}" for one in columns], cells)
    return upload.previews[key]


def _columns_there(visit: Visit, upload: Upload) -> Sequence[v1.ColumnInfo]:
    """The columns of the table that gets the rows, if it is there already."""
    if upload.mode == "create":
        return ()
    place = table_reference(upload.table)
    tables = visit.client.list_tables(place.schema or "main")
    return next((one.columns for one in tables if one.table.table.casefold() == place.table.casefold()), ())


def _beside(stored: str | None, written: str | None) -> str:
    shown = "NULL" if stored is None else stored
    return shown if written is None or written == (stored or "") else f"{shown} (in the file: {written})"


def load(visit: Visit) -> Response:
    """Begins to load the file as the form says, or discards it."""
    upload = _upload(visit)
    if visit.text("action") == "discard":
        visit.session.drop(upload)
        return visit.go("/tables")
    how = v1.ParquetFormat() if upload.path.suffix == ".parquet" else _stated(visit, upload)
    if not upload.running and not upload.load:
        upload.failure, upload.running, upload.rows, upload.stated = None, True, 0, how
        threading.Thread(target=_load, args=[visit.session, upload, how], daemon=True).start()
    return visit.go(f"/uploads/{upload.number}")


def events(sessions: Sessions) -> Endpoint:
    """The rows that are sent so far, until the load has ended."""

    def of(session: VisitorSession, number: str) -> tuple[Iterator[PagePart], Callable[[], None]]:
        upload, left = session.uploads.get(int(number)), threading.Event()

        def changes() -> Iterator[PagePart]:
            while upload is not None and not left.is_set():
                running = upload.running
                yield PagePart(fragment("load_state.html", upload=upload, running=running), not running)
                if not running:
                    return
                time.sleep(_SECONDS_BETWEEN)

        return changes(), left.set

    return live(sessions, of)


def _load(session: VisitorSession, upload: Upload, how: v1.CsvFormat | v1.ParquetFormat) -> None:
    def counted(rows: int) -> None:
        upload.rows = rows

    try:
        done = session.client.load_file(
            upload.path,
            upload.table,
            how,
            append=upload.mode == "append",
            replace=upload.mode == "replace",
            progress=counted,
            show_lines=True,
        )
        upload.load, upload.rows, upload.table = done.load.name, done.load.rows, _named(done.load)
        upload.left_out = done.load.rejected_lines
        # From now on its page shows the table alone.
        upload.guess = None
        upload.previews.clear()
        upload.path.unlink(missing_ok=True)
    except Exception as error:  # its page shows it, whatever it is
        known = isinstance(error, TableveilError)
        upload.failure = error if known else InvalidError("LOAD_FAILED", "the file could not be loaded")
    finally:
        upload.running = False


def _named(load: v1.Load) -> str:
    return f"{load.table.schema}.{load.table.table}"


def _upload(visit: Visit) -> Upload:
    entry = visit.session.uploads.get(int(visit.path("number")))
    if entry is None:
        raise NotFoundError.of("UPLOAD_NOT_FOUND", "upload", "no such file", "a file of this session")
    # A table that cannot be named is refused before the file is read.
    table_reference(entry.table)
    return entry


def _stated(visit: Visit, upload: Upload) -> v1.CsvFormat:
    """The format that the form states; what it has no field for is as guessed."""
    how = v1.CsvFormat()
    if upload.guess is not None and not isinstance(upload.guess, TableveilError):
        how.CopyFrom(upload.guess.format)
    for field in ("null_text", "null_texts", "century_pivots", "types"):
        how.ClearField(field)
    for name in ("delimiter", "encoding_name", "quote"):
        setattr(how, name, _whole(visit.form, name))
    how.date_format, how.timestamp_format = _whole(visit.form, "date_format"), _whole(visit.form, "timestamp_format")
    allowed = visit.text("max_rejected")
    how.max_rejected = _number(allowed)
    how.no_header = visit.text("header") != "yes"
    how.decimal_comma = visit.text("decimal_comma") == "yes"
    # An empty line would be the empty text, which stands for nothing anyway.
    nulls = [line.strip() for line in visit.text("null_texts").split("\n") if line.strip()]
    how.null_texts.extend(nulls)
    for name in visit.texts("text_columns"):
        how.types[name] = "VARCHAR"
    for line in visit.text("century_pivots").split("\n"):
        name, equals, year = line.strip().rpartition("=")
        if equals:
            how.century_pivots[name] = _number(year)
    return how


def _number(digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else 0


def _whole(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value if isinstance(value, str) else ""
