"""A query as source: checks the statement, tries it in another process, lists its columns, and keeps its rows."""

from collections import Counter
from collections.abc import Collection, Iterator
from contextvars import ContextVar

from sqlglot import exp

from tableveil.backend import Session, catalog, drop, identifier, render, table
from tableveil.backend.trial import Exceeded
from tableveil.errors import ConflictError, Fault, InternalError, InvalidError, shortened
from tableveil.policy import TableReference
from tableveil.source.model import SNAPSHOT, Column, Source, SourceQuery
from tableveil.source.query_plan import check_functions, check_plan
from tableveil.source.query_statement import FIELD, read_statement, too_deep, unbound, unnamed_columns
from tableveil.source.query_tables import check_second_opinion, find_tables, named_in_full
from tableveil.source.tables import columns_of, described_table


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


NAMED: ContextVar[set[str]] = ContextVar("named")
"""Takes the names of all tables that queries read or ask for, there or not: for the audit of a call."""

_ROWS = "SELECT * FROM query(?)"
"""The rows of a query, whose text is bound, so that no log has it."""

_COLUMNS = TableReference("temp", "main", "source_query_columns")


def resolve_query(session: Session, text: str) -> tuple[SourceQuery | None, list[Fault]]:
    """The query of a text that may be a source, or all faults of the first step that finds any.

    It may be one if it is one SELECT that reads only tables of the database, and whose rows depend on them alone. Two
    parsers must find the same tables in it. Nothing of it runs, and what it takes to bind it is bounded.

    Raises:
        Stopped: the session's control says so.
        BusyError: too many queries are being checked.
    """
    try:
        return _resolved(session, text)
    except RecursionError:
        return None, [too_deep()]


def _resolved(session: Session, text: str) -> tuple[SourceQuery | None, list[Fault]]:
    statement, faults = read_statement(session, text)
    if statement is None or faults:
        return None, faults
    NAMED.get(set()).update(".".join(mention.path) for mention in statement.tables)
    # Before DuckDB binds it: binding looks into macros and table functions.
    references, missing = find_tables(session, statement.tables)
    faults = [*missing, *check_functions(session, statement.functions)]
    if not faults:
        full, faults = named_in_full(session, statement, references)
    tables = tuple(sorted(set(references), key=str))
    if not faults:
        faults = check_second_opinion(full, tables)
    if not faults:
        faults = check_trial(session, full, tables)
    if not faults:
        faults = check_plan(session, full, tables, statement)
    if not faults:
        faults = [*unnamed_columns(statement), *_check_names(session.described(full))]
    return (None if faults else SourceQuery(full, tables)), faults


def _check_names(columns: list[tuple[str, str]]) -> list[Fault]:
    """The database does not distinguish names that differ only in case."""
    times = Counter(name.casefold() for name, _ in columns)
    return [
        Fault(FIELD, f"{count} columns called {shortened(name)}", "a name of its own for every column", "Rename one.")
        for name, count in times.items()
        if count > 1
    ]


def query_columns(session: Session, query: SourceQuery) -> list[Column | tuple[str, str]]:
    """The columns of the result; those of a type that cannot be released as (name, type)."""
    session.stage(_COLUMNS.table, f"{_ROWS} LIMIT 0", [query.text])
    columns = columns_of(session, _COLUMNS)
    session.execute(drop("TABLE", _table(_COLUMNS)))
    return columns


def take_snapshot(session: Session, source: Source) -> None:
    """Runs the source's query, and keeps its rows for all readers of the source; call it in a transaction.

    They are in a temporary table of the session, which goes with it, in place of those of an earlier snapshot.

    Raises:
        InvalidError: the query fails on the tables' rows.
        ConflictError: it has other columns now.
    """
    assert source.query is not None, "a table needs no snapshot"
    session.execute(drop("TABLE", _table(SNAPSHOT), if_exists=True))
    try:
        session.stage(SNAPSHOT.table, _ROWS, [source.query.text])
    except InternalError as error:
        if error.code != "DATABASE_ERROR":
            raise
        actual = f"a statement that fails on the rows of its tables: {error.message}"
        hint = "A cast, or a subquery of several rows, may be what fails: run it by itself to see."
        raise InvalidError.of("SOURCE_QUERY_FAILED", FIELD, actual, "a statement that runs to its end", hint) from None
    found_columns = tuple(actual for actual in columns_of(session, SNAPSHOT) if isinstance(actual, Column))
    if found_columns != source.columns:
        raise ConflictError.of(
            "SOURCE_CHANGED",
            FIELD,
            "tables whose columns changed",
            "the columns that were checked",
            "Submit the job again.",
        )


def _table(reference: TableReference) -> exp.Table:
    return table(reference.table, reference.schema, reference.catalog)
