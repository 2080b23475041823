"""The command `load`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import click
from rich.console import Console, Group
from rich.status import Status
from rich.text import Text

from tableveil import wording
from tableveil.cli.grouped import grouped
from tableveil.cli.guess import first_values, flags
from tableveil.cli.interruptible import interruptible
from tableveil.cli.request_options import option, pairs, request_options
from tableveil.cli.source_query import SCHEMA
from tableveil.cli.table_names import named_table
from tableveil.cli.tables import facts, listing
from tableveil.cli.verb import DATABASE, DATABASE_OR_NEW, LIMIT, CommandSession, verb
from tableveil.client.formats import FileFormat, is_parquet, is_postgresql
from tableveil.errors import InvalidError
from tableveil.serving.setting import Setting
from tableveil.v1 import table_service_pb2
from tableveil.v1.table_service_pb2 import CsvFormat

if TYPE_CHECKING:
    from tableveil.client.loads import GuessedFormat, StoredRows

_MOST_LINES_SHOWN = 20
_DIGITS_OF_YEAR = 4


def _years(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    years = pairs(ctx, param, values)
    for column, year in years.items():
        if not (year.isascii() and year.isdecimal() and len(year) == _DIGITS_OF_YEAR):
            raise click.BadParameter(f"{column}={year} has no year of four digits", param_hint=param.opts[0])
    return {column: int(year) for column, year in years.items()}


_CSV = request_options(
    CsvFormat,
    "csv",
    "delimiter",
    "quote",
    option(
        "no_header",
        "--header/--no-header",
        default=None,
        callback=lambda _, __, header: None if header is None else not header,
        help="CSV: without, the first line holds values of column1, column2, …",
    ),
    option("null_texts", "--null", help="CSV: what stands for NULL; may be repeated.  [default: nothing]"),
    "quoted_nulls",
    option(
        "encoding_name", "--encoding", help="CSV: any that Python knows, such as cp1252 or utf-16.  [default: utf-8]"
    ),
    option("types", "--type", metavar="COLUMN=TYPE"),
    "all_text",
    option("decimal_comma", "--decimal-comma/--decimal-point", default=None),
    option("date_format", metavar="FORMAT"),
    option("timestamp_format", metavar="FORMAT"),
    option("renames", "--rename", metavar="COLUMN=NAME"),
    "drop_unnamed",
    option("skip_lines", type=click.IntRange(min=0)),
    option("header_lines", type=click.IntRange(min=1)),
    "whole_last_line",
    option("trimmed", "--trim", metavar="COLUMN"),
    option("thousands", metavar="COLUMN=MARK"),
    option("century_pivots", "--century-pivot", metavar="COLUMN=YEAR", callback=_years),
    option("max_rejected", type=click.IntRange(min=0)),
    about="CSV",
)

_KEPT = {
    **{name: name for name in ("encoding", "header", "decimal_comma", "date_format", "timestamp_format", "skip_lines")},
    **{"null": "null_texts", "trim": "trimmed", "thousands": "thousands"},
}
"""By the options that state them, the fields that are not guessed then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The load that is asked for."""

    file: Annotated[str, click.argument("file", metavar="FILE|postgresql://…")]
    table: Annotated[str | None, click.argument("table", required=False)]
    schema: Annotated[str | None, SCHEMA]
    append: Annotated[bool, Setting("Append to the table instead of creating it.")] = False
    replace: Annotated[bool, Setting("Put the rows in place of the table's, all at once.")] = False
    columns_changed: Annotated[
        bool, Setting("With --replace: give the table the columns and types of the rows; its constraints go.")
    ] = False
    source_table: Annotated[
        str,
        click.option(
            "--table", "source_table", default="", help="PostgreSQL: the table to read, also as SCHEMA.TABLE."
        ),
    ]
    query: Annotated[str | None, Setting("PostgreSQL: the rows to read, instead of a table's.")] = None
    on_server: Annotated[bool, Setting("The file is the server's, below one of its --load-directory.")] = False
    request_id: Annotated[str | None, Setting("A name for this load: asked again, it loads nothing twice.")] = None
    format_name: Annotated[
        str | None,
        click.option(
            "--format",
            "format_name",
            type=click.Choice(["csv", "parquet"]),
            help="Default: parquet if the file ends in .parquet or .pq, else csv.",
        ),
    ]
    csv: Annotated[CsvFormat, _CSV]
    no_guess: Annotated[bool, Setting("CSV: take the defaults for what is not stated, as pipelines should.")] = False
    show_lines: Annotated[bool, Setting("CSV: errors show values of the file, which a log may keep for others.")] = (
        False
    )
    most_columns: Annotated[
        int, Setting("Columns of a file that are read here; the server has a limit of its own.")
    ] = 4000


@click.command()
@grouped(_Asked, "asked")
@DATABASE_OR_NEW
@verb
def load(session: CommandSession, asked: _Asked) -> None:
    """Load a CSV or Parquet file, or rows of PostgreSQL, into a table: all of it, or nothing.

    How a local CSV file is written is guessed by its values, shown with its first rows, and said again as options.

    For PostgreSQL, TABLE is by default the name of its --table. The password comes by PGPASSFILE, PGPASSWORD or a
    service.
    """
    began, from_postgresql = time.monotonic(), is_postgresql(asked.file)
    if (asked.source_table or asked.query) and not from_postgresql:
        raise click.UsageError("--table and --query are for postgresql://…")
    table = asked.table or (asked.source_table.rpartition(".")[2] if from_postgresql else None)
    if not table:
        raise click.UsageError("Missing argument 'TABLE'.")
    how: FileFormat | None = None
    if asked.format_name == "parquet":
        how = table_service_pb2.ParquetFormat()
    elif asked.format_name == "csv" or not is_parquet(asked.file):
        how, (null, *nulls) = asked.csv, asked.csv.null_texts or ("",)
        how.null_text, how.null_texts[:] = null, nulls
        # Loads of one request id are compared by their formats: these defaults were always spelled out.
        how.encoding_name, how.header_lines = how.encoding_name or "utf-8", how.header_lines or 1
    place = named_table(table, asked.schema)
    client, output = session.client, session.output
    guess: GuessedFormat | None = None
    guesses = not (asked.no_guess or asked.on_server or from_postgresql)
    if isinstance(how, CsvFormat) and guesses:
        stated = click.get_current_context().params
        kept = [field for name, field in _KEPT.items() if stated[name] not in (None, "", ())]
        # The centuries of a table must not depend on the days of its loads.
        kept += ["century_pivots"] if asked.append else []
        guess = client.guess_csv_format(asked.file, how, kept, asked.most_columns, asked.replace)
        how = guess.format
        if said := flags(how):
            output.tell(Text.assemble(("guessed: ", "bold"), f"--no-guess {said}"))
        for doubt in guess.doubts:
            output.tell(Text(doubt))
    into = {
        "table": place,
        "append": asked.append,
        "replace": asked.replace,
        "columns_changed": asked.columns_changed,
        "request_id": asked.request_id or "",
    }
    stored: list[StoredRows] = []
    with _Sent(output.err) as sent:
        read: Callable[..., table_service_pb2.LoadTableResponse]
        if from_postgresql:
            rows = partial(client.load_postgresql, asked.file, source_table=asked.source_table, query=asked.query or "")
            read = partial(rows, progress=sent.show)
        elif asked.on_server:
            read = partial(client.load_server_file, asked.file, how=how)
        else:
            limit = asked.most_columns
            file = partial(client.load_file, asked.file, how=how, progress=sent.show, most_columns=limit)
            read = partial(file, show_lines=asked.show_lines, shown=stored.append if guess else None)
        try:
            loaded = interruptible(client, lambda: read(**into))
        except InvalidError as error:
            if error.code == "CSV_LINES_REJECTED" and not (asked.show_lines or asked.on_server):
                output.tell(Text("With --show-lines, what stands there is shown."))
            raise
    if output.as_json:
        output.json(loaded)
    else:
        first = first_values(guess, loaded, stored[0]) if guess is not None and stored else ({}, {})
        output.show(_report(loaded, time.monotonic() - began, *first))


@click.command()
@click.argument("table", required=False)
@SCHEMA
@LIMIT
@DATABASE
@verb
def loads(session: CommandSession, table: str | None, schema: str | None, limit: int) -> None:
    """List what was loaded, into TABLE alone if it is named, newest first."""
    place = named_table(table, schema) if table else None
    entries = list(islice(session.client.list_loads(place), limit))
    columns = ("load", "table", "rows", "lines left out", "loaded", "file")
    rows = [
        (
            load.name,
            wording.table_name(load.table),
            wording.count(load.rows),
            wording.count(load.rejected_lines),
            wording.moment(load.create_time),
            wording.short(load.file),
        )
        for load in entries
    ]
    session.output.answer(
        table_service_pb2.ListLoadsResponse(loads=entries),
        listing(columns, rows, "No loads yet.", numbers=("rows", "lines left out")),
    )


def show_result(session: CommandSession, name: str) -> None:
    """Writes a load as JSON, or for people."""
    answer = session.client.get_load(name)
    session.output.answer({"load": answer}, _report(table_service_pb2.LoadTableResponse(load=answer)))


class _Sent:
    """Shows how many rows were sent, on a terminal only."""

    def __init__(self, console: Console) -> None:
        self._status = Status("loading", console=console) if console.is_terminal else None

    def __enter__(self) -> _Sent:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, rows: int) -> None:
        """Replaces the number."""
        if self._status is not None:
            self._status.update(f"{wording.count(rows)} rows sent")


def _report(
    loaded: table_service_pb2.LoadTableResponse,
    seconds: float | None = None,
    stored: Mapping[str, str] = MappingProxyType({}),
    in_file: Mapping[str, str] = MappingProxyType({}),
) -> Group:
    """The account of a load; `seconds` passed for the caller, who sent the rows.

    The first of these are shown by column as they are `stored`, and as they are written `in_file` where that differs.
    """
    done = loaded.load
    passed = wording.duration(done.duration)
    if seconds and not loaded.repeated:
        passed = f"{wording.seconds(seconds)}, of which {passed} in the database"
    answer = [
        ("load", done.name),
        ("table", wording.table_name(done.table)),
        ("rows", wording.count(done.rows)),
        ("lines left out", wording.count(done.rejected_lines)),
        ("time", passed),
    ]
    if done.removed_rows:
        answer.insert(3, ("rows replaced", wording.count(done.removed_rows)))
    answer += [("note", note) for note in loaded.notes]
    if loaded.repeated:
        answer.append(("note", "loaded before by this request id; nothing was loaded now"))
    titles = ("column", "type", "first rows, as stored", "in the file")[: 2 + bool(stored) + bool(in_file)]
    columns = [
        (
            wording.short(column.name),
            wording.short(column.type),
            stored.get(column.name, ""),
            in_file.get(column.name, ""),
        )[: len(titles)]
        for column in done.columns
    ]
    parts = [facts(answer), Text(""), listing(titles, columns, "No columns.")]
    if loaded.rejected_lines:
        lines = [
            (
                f"{wording.short(line.file)}, {line.line:,}" if line.file else wording.count(line.line),
                wording.short(line.column),
                wording.printable(line.reason),
            )
            for line in loaded.rejected_lines[:_MOST_LINES_SHOWN]
        ]
        parts += [Text(""), listing(("line", "column", "left out for"), lines, "", numbers=("line",))]
        more = len(loaded.rejected_lines) - len(lines)
        parts += [Text(f"… and {wording.count(more)} more; --json lists all")] if more else []
    return Group(*parts)
