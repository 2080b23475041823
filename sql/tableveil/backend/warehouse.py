"""Where rows are: the embedded database, or a warehouse beside it. Code that both run sees only these protocols.

A session has two sides. Statements about rows run where the rows are. Everything small is `embedded`: the ledger,
dictionaries with their labels, histograms, and the classes of a release. In the embedded database both are one session.

Types of columns have one vocabulary, DuckDB's spelling; another engine's session translates its own. A statement is a
tree, or text in DuckDB's dialect, which another engine's session renders for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend.expressions import sql, table
from tableveil.backend.traits import Traits
from tableveil.backend.visibility import Visibility
from tableveil.control import Control
from tableveil.errors import Fault
from tableveil.policy import Policy, TableReference

if TYPE_CHECKING:
    import pyarrow as pa

    from tableveil.backend.session import Ledger, Session

Statement = exp.Expr | str
"""A tree, or the fixed text of a migration or of the independent verification."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A table or view. `rows` and `values` are estimates; they are None for a view, and where the engine has none."""

    schema: str
    name: str
    kind: Literal["table", "view"]
    rows: int | None
    values: int | None


def scoped(warehouse: str, schema: str) -> str:
    """The name of a schema in rights and in the ledger: that of a warehouse has the warehouse's name before it."""
    return f"{warehouse}.{schema}" if warehouse else schema


class WarehouseSession(Protocol):
    """Runs statements where the rows are. Use it from one thread at a time; see `Session` for what both have."""

    control: Control | None
    memory: int | None

    @property
    def embedded(self) -> Session:
        """The job's session of the embedded database."""

    @property
    def ledger(self) -> Ledger:
        """The access to the ledger, which is in the embedded database."""

    @property
    def visibility(self) -> Visibility:
        """The names that are found."""

    @property
    def catalog(self) -> str:
        """The first part of every full name: the name of the database's file, or of the warehouse."""

    @property
    def traits(self) -> Traits:
        """How its engine differs from others."""

    @property
    def warehouse(self) -> str:
        """The name of the warehouse; empty for the embedded database."""

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of the engine and of its client, for the evidence; the embedded database's is there anyway."""

    @property
    def hashes(self) -> str:
        """The name of the engine's hash, which fingerprints contain; empty for the embedded database's."""

    @property
    def most_collected(self) -> int | None:
        """The most bytes that a job may collect; None if its rows are in the embedded database already."""

    def execute(self, statement: Statement, parameters: Sequence[object] = ()) -> None:
        """Runs a statement without reading its result."""

    def rows(self, statement: Statement, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The result's rows; for small results only."""

    def row(self, statement: Statement, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """The single row of a result that has exactly one."""

    def value(self, statement: Statement, parameters: Sequence[object] = ()) -> Any:
        """The single value of a result of one row and one column."""

    def arrays(self, statement: Statement, parameters: Sequence[object] = ()) -> dict[str, NDArray[Any]]:
        """The result as one numpy array per column, without NULLs."""

    def described(self, query: Statement) -> list[tuple[str, str]]:
        """The names and types of a query's columns, in the common vocabulary."""

    def described_tables(self, tables: Sequence[exp.Table]) -> list[list[tuple[str, str]]]:
        """The names and types of the columns of each table or view."""

    def noted(self, target: exp.Table) -> list[str]:
        """The columns of a table about which more is noted than names and types: comments, or what a model knows."""

    def view(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> None:
        """Names the rows of a query for the session's next statements; they may be computed each time."""

    def forget(self, name: str) -> None:
        """Drops the rows of a `view`."""

    def collect(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> int:
        """Keeps the rows of a query in a temporary table of the embedded session, and returns their number.

        A table that was collected under that name is replaced.
        """

    def lend(self, name: str) -> None:
        """Makes a temporary table of the embedded session readable here under its name."""

    def create(self, target: exp.Table, query: exp.Query) -> None:
        """Creates a table from a query of the embedded session, in the order of its rows."""

    def write(self, target: exp.Table, query: exp.Query, parameters: Sequence[object] = ()) -> None:
        """Creates a table from a query of this session, in the order of its rows within and across its files."""

    def rename(self, written: exp.Table, to: exp.Table) -> None:
        """Gives a table another name in its schema."""

    def schemas(self) -> list[str]:
        """The schemas that a user may have tables in."""

    def listed(self, schema: str | None = None) -> list[Listed]:
        """The tables and views, temporary ones aside, of the schema or of all; by schema and name."""

    def scope(self, schema: str) -> str:
        """The schema's name in rights and in the ledger."""

    def recorded(self, table_reference: TableReference) -> TableReference:
        """A table as rights and the ledger name it: the schema has the name of a warehouse already; see `scoped`."""

    def unsupported(self, policy: Policy) -> list[Fault]:
        """A fault for each wish of a policy that the engine cannot fulfil."""

    def reading(self) -> AbstractContextManager[None]:
        """One state of the rows while the block runs, where the engine can; fingerprints find changes elsewhere."""

    @property
    def token(self) -> str:
        """Hexadecimal digits that name the session, and are in the names of what it stages."""

    def end(self, token: str) -> None:
        """Ends the session of a token, with the statements that outlived the process that began them."""

    def close(self) -> None:
        """Frees everything temporary."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class Warehouse(Protocol):
    """A place of rows beside the embedded database."""

    @property
    def name(self) -> str:
        """Its name: the first part of the full names of its tables."""

    def session(self, embedded: Session) -> WarehouseSession:
        """A new session for the work of an embedded one; close it before that."""

    def close(self) -> None:
        """Ends all connections."""


def collected(session: WarehouseSession, name: str, query: exp.Query) -> exp.Expr:
    """The rows of a query under the alias `name`, for the FROM clause of a statement of the embedded session.

    If rows have to be collected, they take the place of those that were collected before under that name.
    """
    if not session.traits.collects:
        return query.subquery(name)
    session.collect(name, query)
    return table(name)


def create_from(session: WarehouseSession, target: exp.Table, data: pa.Table) -> int:
    """Creates a table from Arrow data, and returns its number of rows."""
    with session.embedded.relation("written", data):
        session.create(target, sql("SELECT * FROM written"))
    return int(data.num_rows)
