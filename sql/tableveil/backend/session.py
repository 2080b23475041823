"""A session: one cursor for one thread, which runs rendered trees and hides how the database fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cached_property
from types import MappingProxyType
from typing import Any, NewType, Self

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import catalog
from tableveil.backend.arrow_types import cleared
from tableveil.backend.expressions import create_table, drop, table
from tableveil.backend.failures import translated
from tableveil.backend.interrupter import Interrupter
from tableveil.backend.redacted import without_literals
from tableveil.backend.render import render
from tableveil.backend.traits import EMBEDDED
from tableveil.backend.trial import Exceeded, Trials
from tableveil.backend.visibility import EVERYTHING, Visibility
from tableveil.backend.warehouse import Listed, Statement
from tableveil.control import Control, Stopped
from tableveil.errors import Fault
from tableveil.policy import Policy, TableReference

logger = logging.getLogger("tableveil.sql")


class Session:
    """Runs statements on a cursor of its own. Use it from one thread at a time.

    While `control` is set, a statement that runs when it says to stop ends with `Stopped`. `memory` is the memory that
    its owner may use, in bytes, None for all that the database may use; the database itself does not enforce it.
    """

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        interrupter: Interrupter,
        trials: Trials | None = None,
        require_file: Callable[[], None] = lambda: None,
        visibility: Visibility = EVERYTHING,
        catalog: str = "",
    ) -> None:
        """`require_file` raises an error if a commit now would be lost; names that `visibility` lacks are not found.

        `catalog` is the database's name for its file, if it is known.
        """
        if catalog:
            self.catalog = catalog
        self._open: duckdb.DuckDBPyConnection | None = cursor
        self._interrupter = interrupter
        self._trials = trials or Trials()
        self._require_file = require_file
        self.visibility = visibility
        self.control: Control | None = None
        self.memory: int | None = None
        self._statements = 0
        self._stream: pa.RecordBatchReader | None = None

    def close(self) -> None:
        """Closes the cursor; its temporary tables go with it.

        The session lets go of it: the frames of an exception may keep the session, and must not keep the cursor.
        """
        cursor, self._open = self._open, None
        if cursor is not None:
            cursor.close()

    @property
    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if self._open is None:
            raise duckdb.ConnectionException("the session is closed")
        return self._open

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def measure_steps(self) -> None:
        """From now on `step` has a share: DuckDB measures it for its bar, which it must not print."""
        self.execute("SET enable_progress_bar_print = false; SET enable_progress_bar = true")

    @property
    def step(self) -> tuple[int, float]:
        """How many statements have begun, and the percentage that is done of the last one; any thread may ask.

        DuckDB estimates it; it is 0 where DuckDB does not know. Hundredths show that it moves: DuckDB may take minutes
        from 98 to 99.
        """
        try:
            share = self._cursor.query_progress()
        except duckdb.Error:
            share = 0.0
        return self._statements, max(0.0, round(share, 2))

    def execute(self, statement: Statement, parameters: Sequence[object] = ()) -> None:
        """Runs a statement without reading its result."""
        with self._running(statement, parameters):
            pass

    def stage(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> int:
        """Keeps the rows of a query in a temporary table of this session, and returns their number.

        The name is one of our own, never one that a user chose.
        """
        staged: int = self.value(f"CREATE TEMPORARY TABLE {name} AS {_text(query)}", parameters)
        return staged

    def keep(self, name: str, data: pa.Table) -> None:
        """Keeps Arrow data in a temporary table of this session; `stage` says of the name."""
        with self.relation("staged", data):
            self.stage(name, 'SELECT * FROM "staged"')

    def rows(self, statement: Statement, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The result's rows; for small results only."""
        with self._running(statement, parameters):
            return self._cursor.fetchall()

    def row(self, statement: Statement, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """The single row of a result that has exactly one."""
        (row,) = self.rows(statement, parameters)
        return row

    def value(self, statement: Statement, parameters: Sequence[object] = ()) -> Any:
        """The single value of a result of one row and one column."""
        (value,) = self.row(statement, parameters)
        return value

    @property
    def ledger(self) -> Ledger:
        """The access to the ledger that writes in this session's transactions; here it is the session itself."""
        return Ledger(self)

    @cached_property
    def catalog(self) -> str:
        """The database's name for its file: the first part of every full name."""
        name: str = self.value("SELECT current_database()")
        return name

    def described(self, query: Statement) -> list[tuple[str, str]]:
        """The names and types of a query's columns; the query is bound and not run, and no log has its text."""
        try:
            # This takes a tenth of the time of looking through all columns of the database.
            relation = self._cursor.sql(_text(query))
            return list(zip(relation.columns, map(str, relation.types), strict=True))
        except duckdb.Error as error:
            raise translated(error) from None

    def described_tables(self, tables: Sequence[exp.Table]) -> list[list[tuple[str, str]]]:
        """The names and types of the columns of each table or view, in one statement."""
        described: list[list[tuple[str, str]]] = [[] for _ in tables]
        each = [f"SELECT {i} AS nr, * FROM (DESCRIBE {render(one)})" for i, one in enumerate(tables)]
        for number, name, type_, *_ in self.rows(" UNION ALL ".join(each)) if each else ():
            described[number].append((name, type_))
        return described

    def noted(self, target: exp.Table) -> list[str]:
        """The columns of a table that have comments."""
        return catalog.noted(self, target)

    def tried(self, query: str, definitions: Sequence[str]) -> Exceeded | dict[str, Any] | None:
        """None if a query binds within the limits of a trial, on tables made by the definitions; see `Trials`."""
        return self._trials.run(query, definitions, self.control or Control())

    def arrays(
        self, statement: Statement, parameters: Sequence[object] = (), *, many: bool = False
    ) -> dict[str, NDArray[Any]]:
        """The result as one numpy array per column, without NULLs.

        To read `many` rows takes half the time, but the statement, without parameters, is planned twice.
        """
        with self._running(statement, parameters, later=many):
            result = self._cursor.sql(_text(statement)) if many else self._cursor
            return {name: np.asarray(array) for name, array in result.fetchnumpy().items()}

    def batches(self, statement: Statement, rows: int) -> pa.RecordBatchReader:
        """The result as a stream of Arrow batches; drain it before the session's next statement.

        It holds nothing under its NULLs: DuckDB leaves there whatever was in the memory.
        """
        try:
            reader = self._stream = self._cursor.sql(_text(statement)).to_arrow_reader(rows)
        except duckdb.Error as error:
            raise translated(error) from None
        return pa.RecordBatchReader.from_batches(reader.schema, map(cleared, reader))

    @contextmanager
    def transaction(self, *, elsewhere: bool = False) -> Iterator[None]:
        """A transaction around the block: rolled back if the block raises, else committed.

        It neither begins nor commits once the database's path names another file, unless it writes `elsewhere` or
        nothing. Nothing stops the commit once it has begun: DuckDB cannot interrupt it. A commit's success is no proof
        that anything was written: an aborted transaction commits nothing and reports no error. Look for the result
        afterwards.
        """
        require_file = self._require_file if not elsewhere else lambda: None
        require_file()
        self.execute("BEGIN TRANSACTION")
        try:
            yield
            if not elsewhere:
                _COMMITTED_WITH.get()(self)
            require_file()
        except BaseException:
            self._unguarded("ROLLBACK")
            raise
        if self.control is not None and self.control.must_stop:
            self._unguarded("ROLLBACK")
            raise Stopped
        self._unguarded("COMMIT")

    @contextmanager
    def relation(self, name: str, data: pa.Table | pa.RecordBatchReader) -> Iterator[None]:
        """Makes an Arrow table, or once a stream of batches, readable under `name` while the block runs."""
        try:
            self._cursor.register(name, data)
        except duckdb.Error as error:
            raise translated(error) from None
        try:
            yield
        finally:
            # An interrupted transaction refuses this as well, and must not hide the first error; the name then goes
            # with the cursor.
            with suppress(duckdb.Error):
                self._cursor.unregister(name)

    # --- as a session of rows: see `WarehouseSession` ----------------------------------------------------------------

    @property
    def embedded(self) -> Session:
        """This session: its rows are in the embedded database."""
        return self

    traits = EMBEDDED
    warehouse = ""
    hashes = ""
    versions: Mapping[str, str] = MappingProxyType({})
    most_collected: int | None = None

    def view(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> None:
        """See `stage`: rows are kept, so that they are computed once."""
        self.stage(name, query, parameters)

    def forget(self, name: str) -> None:
        """Drops the table that `view` made."""
        self.execute(drop("TABLE", table(name)))

    def collect(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> int:
        """See `stage`: the rows are here already. A table that was collected under that name is replaced."""
        collected: int = self.value(f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {_text(query)}", parameters)
        return collected

    def lend(self, name: str) -> None:
        """Does nothing: the table is here."""

    def create(self, target: exp.Table, query: exp.Query) -> None:
        """See `write`: the embedded session is this one."""
        self.write(target, query)

    def write(self, target: exp.Table, query: exp.Query, parameters: Sequence[object] = ()) -> None:
        """Creates a table in the order of the query's rows."""
        self.execute(create_table(target, query), parameters)

    def rename(self, written: exp.Table, to: exp.Table) -> None:
        """Gives a table another name in its schema."""
        self.execute(exp.Alter(this=written, kind="TABLE", actions=[exp.AlterRename(this=exp.Table(this=to.this))]))

    def schemas(self) -> list[str]:
        """The schemas that a user may have tables in."""
        return catalog.schemas(self)

    def listed(self, schema: str | None = None) -> list[Listed]:
        """The tables and views, temporary ones aside, of the schema or of all; by schema and name."""
        return catalog.listed(self, schema)

    def reading(self) -> AbstractContextManager[None]:
        """One state of the tables and of the ledger; nothing but temporary tables may be written in it."""
        return self.transaction(elsewhere=True)

    token = ""

    def end(self, token: str) -> None:
        """Does nothing: statements end with the process."""

    def scope(self, schema: str) -> str:
        """The schema itself."""
        return schema

    def recorded(self, table_reference: TableReference) -> TableReference:
        """The table itself."""
        return table_reference

    def unsupported(self, policy: Policy) -> list[Fault]:
        """Nothing."""
        return []

    @contextmanager
    def _running(self, statement: Statement, parameters: Sequence[object], *, later: bool = False) -> Iterator[None]:
        text = _text(statement)
        control = self.control
        self._statements += 1
        try:
            with self._interrupter.guard(self._cursor, control) if control is not None else nullcontext():
                if not later:
                    self._cursor.execute(text, list(parameters))
                yield
        except duckdb.Error as error:
            failure = translated(error)
            if not isinstance(failure, Stopped):
                # The database's own text may hold values, and so may the statement's literals.
                logger.warning("statement failed: %s: %s", type(error).__name__, without_literals(text))
            raise failure from None

    def _unguarded(self, statement: str) -> None:
        """Ends the transaction; a stream that was left half read would hold it."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
        try:
            self._cursor.execute(statement)
        except duckdb.Error as error:
            raise translated(error) from None


_COMMITTED_WITH: ContextVar[Callable[[Session], None]] = ContextVar("committed_with", default=lambda _: None)


@contextmanager
def committed_with(write: Callable[[Session], None]) -> Iterator[None]:
    """While the block runs, each transaction that this thread commits also has what `write` writes, or nothing."""
    token = _COMMITTED_WITH.set(write)
    try:
        yield
    finally:
        _COMMITTED_WITH.reset(token)


Ledger = NewType("Ledger", Session)
"""A session of the database that holds the schema `tableveil`: jobs, hierarchies, and releases with their evidence.

Another engine's sessions may read the source. The ledger's session needs nothing of theirs.
"""


def _text(statement: Statement) -> str:
    return statement if isinstance(statement, str) else render(statement)
