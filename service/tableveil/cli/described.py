"""The commands `tables` and `describe`."""

import click
from rich.console import Group
from rich.text import Text

from tableveil import wording
from tableveil.cli.request_options import request_option
from tableveil.cli.source_query import SCHEMA
from tableveil.cli.tables import listing
from tableveil.cli.verb import DATABASE, CommandSession, verb
from tableveil.client.names import source_reference
from tableveil.v1 import table_service_pb2


@click.command()
@request_option(table_service_pb2.ListTablesRequest, "schema", default="")
@DATABASE
@verb
def tables(session: CommandSession, schema: str) -> None:
    """List the tables and views of the server's database."""
    output = session.output
    entries = list(session.client.list_tables(schema))
    rows = [
        (
            wording.table_name(info.table),
            "view" if info.is_view else "table",
            wording.count(info.estimated_rows) if info.HasField("estimated_rows") else "",
            wording.count(len(info.columns)),
        )
        for info in entries
    ]
    output.answer(
        table_service_pb2.ListTablesResponse(tables=entries),
        listing(("name", "kind", "rows", "columns"), rows, "No tables yet.", numbers=("rows", "columns")),
    )


@click.command()
@click.argument("table")
@SCHEMA
@request_option(table_service_pb2.DescribeTableRequest, "values", type=click.IntRange(0, 1000), default=0)
@DATABASE
@verb
def describe(session: CommandSession, table: str, schema: str | None, values: int) -> None:
    """Show the columns of a table: types, NULLs, how many different values. No values unless asked."""
    output = session.output
    description = session.client.describe_table(source_reference(table, schema), values)
    rows = [
        (
            wording.short(column.name),
            wording.short(column.type) + ("" if column.releasable else " (not releasable)"),
            wording.count(column.nulls),
            ("" if column.distinct_exact else "~") + wording.count(column.distinct_values),
            f"{column.shortest} to {column.longest}" if column.HasField("shortest") else "",
        )
        for column in description.columns
    ]
    columns = ("column", "type", "NULLs", "distinct", "characters")
    parts = [
        Text(f"{wording.table_name(description.table)}: {wording.count(description.rows)} rows"),
        listing(columns, rows, "No columns.", numbers=columns[2:]),
    ]
    if values:
        parts += [Text(""), *(_values(column) for column in description.columns)]
    output.answer({"description": description}, Group(*parts))


def _values(column: table_service_pb2.ColumnDescription) -> Text:
    shown = ", ".join(f"{wording.short(one.value)} ({wording.count(one.rows)})" for one in column.values)
    extremes = f" [{wording.short(column.minimum)} … {wording.short(column.maximum)}]" if column.values else ""
    return Text(f"{wording.short(column.name)}{extremes}: {shown or 'no values'}")
