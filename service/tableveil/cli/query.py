"""The command `query`: a statement at an endpoint, its rows as a table."""

import json
from pathlib import Path

import click

from tableveil.cli.output import Output

_FILE = click.Path(path_type=Path, dir_okay=False)
_MOST_SHOWN = 100


@click.command()
@click.argument("statement")
@click.option(
    "--endpoint",
    "address",
    default="127.0.0.1:50652",
    envvar="TABLEVEIL_ENDPOINT",
    show_default=True,
    show_envvar=True,
    metavar="ADDRESS",
    help="Where the endpoint listens.",
)
@click.option(
    "--token-file", type=_FILE, help="The file with your token; or set TABLEVEIL_TOKEN or TABLEVEIL_TOKEN_FILE."
)
@click.option("--ca-certificate", type=_FILE, help="Speak TLS: the authorities of the endpoint's certificate.")
@click.option("--limit", type=click.IntRange(min=1), default=_MOST_SHOWN, show_default=True, help="Rows in the table.")
@click.option("--json", "as_json", is_flag=True, help="Write all rows to stdout, one JSON object per line.")
@click.option(
    "--spread", is_flag=True, help="Beside numbers from estimated tables: what reasonable assumptions differ by."
)
def query(
    statement: str,
    address: str,
    token_file: Path | None,
    ca_certificate: Path | None,
    limit: int,
    as_json: bool,
    spread: bool,
) -> None:
    """Ask an endpoint about published releases: tableveil query "SHOW TABLES"."""
    from rich.table import Table

    from tableveil.client.queries import HINT
    from tableveil.client.queries import query as ask

    output = Output(as_json)
    with output.reporting(), ask(address, statement, token_file, ca_certificate, spread=spread) as (schema, batches):
        shown, more = Table(*schema.names), False
        for batch in batches:
            # Names of columns may come twice: rows are tuples.
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if as_json:
                    click.echo(json.dumps(dict(zip(schema.names, row, strict=True)), default=str))
                elif shown.row_count < limit:
                    shown.add_row(*("NULL" if value is None else str(value) for value in row))
                else:
                    more = True
            if more:
                break
        if not as_json:
            output.show(shown)
        if more:
            output.tell(f"The first {limit:,} rows; --limit shows more, --json all.")
        if hint := (schema.metadata or {}).get(HINT):
            output.tell(hint.decode())
