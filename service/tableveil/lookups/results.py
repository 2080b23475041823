"""The results of jobs, as the service offers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import pyarrow as pa

from tableveil.backend import Database, Session
from tableveil.errors import NotFoundError
from tableveil.lookups.rows import ROWS_PER_BATCH, readable
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state.classifications import CLASSIFICATIONS, Classification
from tableveil.state.frontiers import FRONTIERS, Frontier
from tableveil.state.jobs import JobKind
from tableveil.state.payout_sweeps import PAYOUT_SWEEPS, PayoutSweep
from tableveil.state.risk_analyses import RISK_ANALYSES, RiskAnalysis
from tableveil.state.utility_reports import UTILITY_REPORTS, Stored

Result = TypeVar("Result")


class Results(Generic[Result]):
    """Reads what jobs of one kind stored. May be used from any thread."""

    def __init__(
        self,
        database: Database,
        kind: JobKind,
        collection: str,
        noun: str,
        find: Callable[[Session, int], Result | None],
    ) -> None:
        self._database = database
        self._kind = kind
        self._collection = collection
        self._noun = noun
        self._find = find

    def get(self, number: int) -> Result:
        """What has that number; `NotFoundError` if there is none."""
        with self._database.session() as session:
            found = self._find(session, number)
        if found is None:
            name = f"{self._collection}/{number}"
            raise NotFoundError.of(f"{self._kind}_NOT_FOUND", "name", name, f"an existing {self._noun}")
        return found


class Frontiers(Results[Frontier]):
    """Frontiers."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.FRONTIER, "frontiers", "frontier", FRONTIERS.find)


class PayoutSweeps(Results[PayoutSweep]):
    """Payout sweeps."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.PAYOUT_SWEEP, "payoutSweeps", "payout sweep", PAYOUT_SWEEPS.find)


class UtilityReports(Results[Stored]):
    """Utility reports."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.UTILITY_REPORT, "utilityReports", "utility report", UTILITY_REPORTS.find)


class Classifications(Results[Classification]):
    """Classifier assessments, one or a list."""

    def __init__(self, database: Database) -> None:
        super().__init__(
            database, JobKind.CLASSIFICATION, "classifications", "classifier assessment", CLASSIFICATIONS.find
        )

    def page(self, before: int | None, size: int) -> list[Classification]:
        """The next `size` assessments with numbers below `before`, newest first."""
        with self._database.session() as session:
            return CLASSIFICATIONS.page(session, before, size)


class RiskAnalyses(Results[RiskAnalysis]):
    """Risk analyses, and the risks of each record."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.RISK_ANALYSIS, "riskAnalyses", "risk analysis", RISK_ANALYSES.find)

    @contextmanager
    def read_records(self, number: int) -> Iterator[pa.RecordBatchReader]:
        """The risks of each combination of values, with the values.

        Raises:
            NotFoundError: there is no such analysis, or it was not asked for them.
        """
        analysis = self.get(number)
        if not analysis.has_record_risks:
            raise NotFoundError.of(
                "RECORD_RISKS_NOT_KEPT",
                "name",
                f"riskAnalyses/{number}, which did not keep the risks of each record",
                "an analysis that was asked for records",
                "Ask for one with records: true.",
            )
        with self._database.session() as session:
            yield session.batches(readable(session, STATE_SCHEMA, analysis.record_risks), ROWS_PER_BATCH)
