"""Classifier assessments, as the service offers them."""

from __future__ import annotations

from tableveil.backend import Database
from tableveil.errors import NotFoundError
from tableveil.state import classifications
from tableveil.state.classifications import Classification


class Classifications:
    """Reads what classifier assessment jobs stored. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, number: int) -> Classification:
        """The assessment of that number; `NotFoundError` if there is none."""
        with self._database.session() as session:
            found = classifications.find(session, number)
        if found is None:
            expected = "an existing classifier assessment"
            raise NotFoundError.of("CLASSIFICATION_NOT_FOUND", "name", f"classifications/{number}", expected)
        return found

    def page(self, before: int | None, size: int) -> list[Classification]:
        """The next `size` assessments with numbers below `before`, newest first."""
        with self._database.session() as session:
            return classifications.page(session, before, size)
