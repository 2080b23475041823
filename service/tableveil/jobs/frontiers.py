"""Frontiers, as the service offers them."""

from __future__ import annotations

from tableveil.backend import Database
from tableveil.errors import NotFoundError
from tableveil.state import frontiers
from tableveil.state.frontiers import Frontier


class Frontiers:
    """Reads what frontier jobs stored. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, number: int) -> Frontier:
        """The frontier of that number; `NotFoundError` if there is none."""
        with self._database.session() as session:
            frontier = frontiers.find(session, number)
        if frontier is None:
            raise NotFoundError.of("FRONTIER_NOT_FOUND", "name", f"frontiers/{number}", "an existing frontier")
        return frontier
