"""The withdrawals in the ledger: when a release was taken back, and why."""

from dataclasses import dataclass
from datetime import datetime

from tableveil.state.mapper import Table


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The withdrawal of one release; `kept_objects` were changed after they were written, and not dropped."""

    at: datetime
    reason: str
    kept_objects: tuple[str, ...]


WITHDRAWALS = Table("withdrawals", Withdrawal, "release", names={"at": "withdrawn_at"})
