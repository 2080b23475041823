"""What jobs found, as the service offers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from tableveil.backend import Database, Session
from tableveil.errors import NotFoundError
from tableveil.state import frontiers, payout_sweeps, utility_reports
from tableveil.state.frontiers import Frontier
from tableveil.state.jobs import JobKind
from tableveil.state.payout_sweeps import PayoutSweep
from tableveil.state.utility_reports import Stored

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
        super().__init__(database, JobKind.FRONTIER, "frontiers", "frontier", frontiers.find)


class PayoutSweeps(Results[PayoutSweep]):
    """Payout sweeps."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.PAYOUT_SWEEP, "payoutSweeps", "payout sweep", payout_sweeps.find)


class UtilityReports(Results[Stored]):
    """Utility reports."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, JobKind.UTILITY_REPORT, "utilityReports", "utility report", utility_reports.find)
