"""Risk analyses, as the service offers them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from tableveil.backend import Database
from tableveil.errors import NotFoundError
from tableveil.jobs.releases import ROWS_PER_BATCH, readable
from tableveil.jobs.results import Results
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state import risk_analyses
from tableveil.state.jobs import JobKind
from tableveil.state.risk_analyses import RiskAnalysis


class RiskAnalyses(Results[RiskAnalysis]):
    """Risk analyses, and the risks of each record."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.RISK_ANALYSIS, "riskAnalyses", "risk analysis", risk_analyses.find)

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
