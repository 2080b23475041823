"""The results of jobs, and rows of tables, as the service offers them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import WITHOUT_ARROW, Database, Ledger, Session, alias, cast, column, table
from tableveil.errors import NotFoundError
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state.kinds import KINDS, JobKind, StoredKind
from tableveil.state.risk_analyses import RiskAnalysis
from tableveil.state.seen import UNHIDDEN, Condition

ROWS_PER_BATCH = 8192


def readable(session: Session, schema: str, name: str) -> exp.Select:
    """The query for all columns of a table or view, in types that Arrow has."""
    # By its full name: the schema may have the database's name.
    full = table(name, schema, session.catalog)
    read = [
        alias(cast(column(source_column), WITHOUT_ARROW[type_]), source_column)
        if type_ in WITHOUT_ARROW
        else column(source_column)
        for source_column, type_ in session.described(exp.select("*").from_(full))
    ]
    return exp.select(*read).from_(full)


Result = TypeVar("Result")


class Results(Generic[Result]):
    """Reads the stored results of jobs of one kind. May be used from any thread."""

    def __init__(self, database: Database, kind: JobKind) -> None:
        self._database = database
        self._kind = kind
        self._stored: StoredKind[Result] = KINDS[kind]

    def get(self, number: int) -> Result:
        """The result with that number; `NotFoundError` if there is none."""
        with self._database.ledger() as ledger:
            return self.found(ledger, number)

    def found(self, ledger: Ledger, number: int) -> Result:
        """As `get`, in the state that a transaction of the ledger shows."""
        result = self._stored.results.find(ledger, number)
        if result is None:
            name = f"{self._stored.collection}/{number}"
            raise NotFoundError.of(f"{self._kind}_NOT_FOUND", "name", name, f"an existing {self._stored.noun}")
        return result

    def page(self, before: int | None, size: int, only: Condition = UNHIDDEN) -> list[Result]:
        """The next `size` results with numbers below `before` that meet a condition, newest first."""
        with self._database.ledger() as ledger:
            return self._stored.results.page(ledger, before, size, only)


class RiskAnalyses(Results[RiskAnalysis]):
    """Risk analyses, and the risks of each record."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.RISK_ANALYSIS)

    @contextmanager
    def read_records(self, number: int) -> Iterator[pa.RecordBatchReader]:
        """The risks of each combination of values, with the values.

        Raises:
            NotFoundError: there is no such analysis, or its request did not include them.
        """
        with self._database.session() as session, session.reading():
            analysis = self.found(session.ledger, number)
            if not analysis.has_record_risks:
                raise NotFoundError.of(
                    "RECORD_RISKS_NOT_KEPT",
                    "name",
                    f"riskAnalyses/{number}, which did not keep the risks of each record",
                    "an analysis that was asked for records",
                    "Ask for one with records: true.",
                )
            yield session.batches(readable(session, STATE_SCHEMA, analysis.record_risks), ROWS_PER_BATCH)
