"""A SELECT in place of a table, as commands take it: from a file, or from stdin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TextIO

import click

from tableveil.client.names import source_reference

if TYPE_CHECKING:
    from tableveil.v1.draft_service_pb2 import DraftPolicyRequest
    from tableveil.v1.proposal_service_pb2 import ProposalRequest
    from tableveil.v1.risk_service_pb2 import RiskRequest


def _text(ctx: click.Context, param: click.Parameter, value: TextIO | None) -> str | None:
    if value is None:
        return None
    try:
        # Here, since a refused command closes nothing.
        with value:
            text = value.read()
    except UnicodeDecodeError:
        raise click.BadParameter("the file is not text in UTF-8") from None
    if not text.strip():
        raise click.BadParameter("the file is empty: it holds one SELECT")
    return text


query_option = click.option(
    "--query",
    type=click.File(encoding="utf-8"),
    callback=_text,
    metavar="FILE",
    help="A file with one SELECT, whose rows are taken in place of a table; - reads stdin.",
)
"""`--query FILE|-`, whose value is the text."""


SCHEMA = click.option("--schema", help="The table's schema. TABLE is then its name as it is, with all dots in it.")


@dataclass(frozen=True, slots=True)
class TableOrQuery:
    """The rows that a command is about."""

    table: Annotated[str | None, click.argument("table", required=False)]
    query: Annotated[str | None, query_option]
    schema: Annotated[str | None, SCHEMA]

    def require(self, what: str = "TABLE") -> None:
        """Refuses a command that names no source, or more than one; `what` names the alternative to a query."""
        if (self.table is None) == (self.query is None):
            raise click.UsageError(f"name either a {what}, or a --query")
        if self.query is not None and self.schema is not None:
            raise click.UsageError("--schema is of a table, and there is a --query")

    def fill(self, request: DraftPolicyRequest | ProposalRequest | RiskRequest) -> None:
        """Makes it the source of a request."""
        if self.table is not None:
            request.table.CopyFrom(source_reference(self.table, self.schema))
        else:
            request.source_query = self.query or ""
