"""A source query is bound in a process of its own first, on empty tables that look like those it reads."""

from collections.abc import Collection, Iterator

from tableveil.backend import Session, catalog, identifier, render, table
from tableveil.backend.trial import Exceeded
from tableveil.errors import Fault
from tableveil.policy import TableReference
from tableveil.source.query_statement import FIELD, unbound
from tableveil.source.tables import described_table


def check_trial(session: Session, full: str, references: Collection[TableReference]) -> list[Fault]:
    """The fault of a query, with full names in its text, that exceeds the limits of a trial when it is bound.

    Raises:
        Stopped: the session's control says so.
        BusyError: too many queries are being tried.
    """
    trial = session.tried(full, list(_definitions(session, references)))
    if trial is None:
        return []
    if isinstance(trial, Exceeded):
        hint = "Make a table of a part of it, and read that."
        return [Fault(FIELD, trial.found, "a simpler query", hint)]
    return [unbound(trial)]


def _definitions(session: Session, references: Collection[TableReference]) -> Iterator[str]:
    """Statements that make tables with these names and columns, and the types that the query may name."""
    own = render(identifier(session.catalog))
    yield f"ATTACH IF NOT EXISTS ':memory:' AS {own}"
    types = [(schema, name) for schema, name in catalog.types(session) if session.visibility.owned.has_schema(schema)]
    for schema in dict.fromkeys([*(reference.schema for reference in references), *(schema for schema, _ in types)]):
        yield f"CREATE SCHEMA IF NOT EXISTS {own}.{render(identifier(schema))}"
    for schema, name in types:
        full = render(table(name, schema, session.catalog))
        ((_, definition),) = session.described(f"SELECT NULL::{full} AS value")
        yield f"CREATE TYPE {full} AS {definition}"
    for reference in references:
        columns = ", ".join(
            f"{render(identifier(name))} {type_}" for name, type_ in described_table(session, reference)
        )
        yield f"CREATE TABLE {render(table(reference.table, reference.schema, reference.catalog))} ({columns})"
    yield f"USE {own}"
