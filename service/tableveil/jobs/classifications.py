"""Classifier assessments, as the service offers them."""

from __future__ import annotations

from tableveil.backend import Database
from tableveil.jobs.results import Results
from tableveil.state import classifications
from tableveil.state.classifications import Classification
from tableveil.state.jobs import JobKind


class Classifications(Results[Classification]):
    """Classifier assessments, one or a list."""

    def __init__(self, database: Database) -> None:
        super().__init__(
            database, JobKind.CLASSIFICATION, "classifications", "classifier assessment", classifications.find
        )

    def page(self, before: int | None, size: int) -> list[Classification]:
        """The next `size` assessments with numbers below `before`, newest first."""
        with self._database.session() as session:
            return classifications.page(session, before, size)
