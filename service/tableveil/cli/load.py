"""The command `load`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice

import click
from rich.console import Console, Group
from rich.status import Status
from rich.text import Text

from tableveil import wording
from tableveil.cli.interruptible import interruptible
from tableveil.cli.table_names import named_table
from tableveil.cli.tables import facts, listing
from tableveil.cli.verb import DATABASE, DATABASE_OR_NEW, LIMIT, Session, verb
from tableveil.client.verbs.tables import FileFormat, is_parquet, is_postgresql
from tableveil.v1 import table_service_pb2

_MOST_LINES_SHOWN = 20


@click.command()
@click.argument("file", metavar="FILE|postgresql://…")
@click.argument("table", required=False)
@click.option("--schema", help="The table's schema. TABLE is then its name as it is, with all dots in it.")
@click.option("--append", is_flag=True, help="Append to the table instead of creating it.")
@click.option("--replace", is_flag=True, help="Put the rows in place of the table's, all at once.")
@click.option("--table", "source_table", default="", help="PostgreSQL: the table to read, also as SCHEMA.TABLE.")
@click.option("--query", default="", help="PostgreSQL: the rows to read, instead of a table's.")
@click.option("--on-server", is_flag=True, help="The file is the server's, below one of its --load-directory.")
@click.option("--request-id", default="", help="A name for this load: asked again, it loads nothing twice.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["csv", "parquet"]),
    help="Default: parquet if the file ends in .parquet or .pq, else csv.",
)
@click.option("--delimiter", default="", help="CSV: what tells columns apart.  [default: ,]")
@click.option("--quote", default="", help='CSV: what encloses values.  [default: "]')
@click.option("--no-header", is_flag=True, help="CSV: the first line holds values; columns are column1, column2, …")
@click.option("--null", "null_text", default="", help="CSV: what stands for NULL.  [default: nothing]")
@click.option("--quoted-nulls", is_flag=True, help="CSV: it stands for NULL in quotes, too.")
@click.option(
    "--encoding", default="utf-8", show_default=True, help="CSV: any that Python knows, such as cp1252 or utf-16."
)
@click.option("--type", "types", multiple=True, metavar="COLUMN=TYPE", help="CSV: a column's type; may be repeated.")
@click.option("--all-text", is_flag=True, help="CSV: columns without --type are text.")
@click.option("--decimal-comma", is_flag=True, help="CSV: numbers are written with a comma: 1,5.")
@click.option("--date-format", default="", metavar="FORMAT", help="CSV: how dates are written, such as %d.%m.%Y.")
@click.option("--timestamp-format", default="", metavar="FORMAT", help="CSV: the same of timestamps.")
@click.option(
    "--max-rejected",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="CSV: lines that may be left out because they cannot be read or do not fit.",
)
@DATABASE_OR_NEW
@verb
def load(
    session: Session,
    file: str,
    table: str | None,
    schema: str | None,
    append: bool,
    replace: bool,
    source_table: str,
    query: str,
    on_server: bool,
    request_id: str,
    format_name: str | None,
    encoding: str,
    types: tuple[str, ...],
    **csv: object,
) -> None:
    """Load a CSV or Parquet file, or rows of PostgreSQL, into a table: all of it, or nothing.

    For PostgreSQL, TABLE is by default the name of its --table. The password comes by PGPASSFILE, PGPASSWORD or a
    service.
    """
    from_postgresql = is_postgresql(file)
    if (source_table or query) and not from_postgresql:
        raise click.UsageError("--table and --query are for postgresql://…")
    table = table or (source_table.rpartition(".")[2] if from_postgresql else None)
    if not table:
        raise click.UsageError("Missing argument 'TABLE'.")
    how: FileFormat | None = None
    if format_name == "parquet":
        how = table_service_pb2.ParquetFormat()
    elif format_name == "csv" or not is_parquet(file):
        how = table_service_pb2.CsvFormat(types=_types(types), encoding_name=encoding, **csv)  # type: ignore[arg-type]
    place = named_table(table, schema)
    client, output = session.client, session.output
    with _Sent(output.err) as sent:
        read: Callable[..., table_service_pb2.LoadTableResponse]
        if from_postgresql:
            read = partial(client.load_postgresql, file, source_table=source_table, query=query, progress=sent.show)
        elif on_server:
            read = partial(client.load_server_file, file, how=how)
        else:
            read = partial(client.load_file, file, how=how, progress=sent.show)
        loaded = interruptible(client, lambda: read(table=place, append=append, replace=replace, request_id=request_id))
    if output.as_json:
        output.json(loaded)
    else:
        output.show(_report(loaded))


@click.command()
@LIMIT
@DATABASE
@verb
def loads(session: Session, limit: int) -> None:
    """List what was loaded, newest first."""
    found = list(islice(session.client.list_loads(), limit))
    if session.output.as_json:
        session.output.json(table_service_pb2.ListLoadsResponse(loads=found))
        return
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
        for load in found
    ]
    session.output.show(listing(columns, rows, "No loads yet.", numbers=("rows", "lines left out")))


def show_result(session: Session, name: str) -> None:
    """Writes a load as JSON, or for people."""
    found = session.client.get_load(name)
    if session.output.as_json:
        session.output.json({"load": found})
    else:
        session.output.show(_report(table_service_pb2.LoadTableResponse(load=found)))


def _types(stated: tuple[str, ...]) -> dict[str, str]:
    types = {}
    for one in stated:
        # Names may contain an equals sign, types do not.
        column, equals, type_ = one.rpartition("=")
        if not (column and equals and type_):
            raise click.BadParameter(f"{one!r} is not COLUMN=TYPE", param_hint="--type")
        types[column] = type_
    return types


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


def _report(loaded: table_service_pb2.LoadTableResponse) -> Group:
    done = loaded.load
    told = [
        ("load", done.name),
        ("table", wording.table_name(done.table)),
        ("rows", wording.count(done.rows)),
        ("lines left out", wording.count(done.rejected_lines)),
        ("time", wording.duration(done.duration)),
    ]
    if done.removed_rows:
        told.insert(3, ("rows replaced", wording.count(done.removed_rows)))
    if loaded.repeated:
        told.append(("note", "loaded before by this request id; nothing was loaded now"))
    columns = [(wording.short(column.name), wording.short(column.type)) for column in done.columns]
    parts = [facts(told), Text(""), listing(("column", "type"), columns, "No columns.")]
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
