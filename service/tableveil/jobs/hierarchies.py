"""Stored hierarchies, as the service offers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tableveil.backend import Database
from tableveil.errors import Fault, InvalidError
from tableveil.hierarchy import check_levels
from tableveil.state import hierarchies
from tableveil.state.hierarchies import Stored


class Hierarchies:
    """Creates and lists the hierarchies kept in the database. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, rows: Sequence[Sequence[str]]) -> Stored:
        """Stores the rows as the next version of `name`, or returns the version that holds exactly these.

        Raises:
            InvalidError: with everything that is wrong with the rows.
        """
        # The rows are the request's own, not those of a hierarchy in a policy.
        found = check_levels(rows, "hierarchy")
        faults = [replace(fault, field=fault.field.removeprefix("hierarchy.")) for fault in found]
        if not name:
            faults.insert(0, Fault("name", "nothing", "a name for the hierarchy"))
        if faults:
            raise InvalidError.about("HIERARCHY_INVALID", "the hierarchy is invalid", faults)
        with self._database.session() as session:
            return hierarchies.create(session, name, rows)

    def page(self, after: tuple[str, int], size: int) -> list[Stored]:
        """The next `size` versions after (name, version), by name and newest first; start with ("", 0)."""
        with self._database.session() as session:
            return hierarchies.page(session, after, size)
