"""Payout sweeps, as the service offers them."""

from __future__ import annotations

from tableveil.backend import Database
from tableveil.errors import NotFoundError
from tableveil.state import payout_sweeps
from tableveil.state.payout_sweeps import PayoutSweep


class PayoutSweeps:
    """Reads what payout sweep jobs stored. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, number: int) -> PayoutSweep:
        """The payout sweep of that number; `NotFoundError` if there is none."""
        with self._database.session() as session:
            sweep = payout_sweeps.find(session, number)
        if sweep is None:
            expected = "an existing payout sweep"
            raise NotFoundError.of("PAYOUT_SWEEP_NOT_FOUND", "name", f"payoutSweeps/{number}", expected)
        return sweep
