"""Utility reports, as the service offers them."""

from __future__ import annotations

from tableveil.backend import Database
from tableveil.errors import NotFoundError
from tableveil.state import utility_reports
from tableveil.state.utility_reports import Stored


class UtilityReports:
    """Reads what utility report jobs stored. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, number: int) -> Stored:
        """The report of that number; `NotFoundError` if there is none."""
        with self._database.session() as session:
            stored = utility_reports.find(session, number)
        if stored is None:
            expected = "an existing utility report"
            raise NotFoundError.of("UTILITY_REPORT_NOT_FOUND", "name", f"utilityReports/{number}", expected)
        return stored
