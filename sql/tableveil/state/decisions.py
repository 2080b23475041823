"""Decisions about releases: the approval of another person, and withdrawals with their reasons."""

from dataclasses import dataclass
from datetime import datetime

from tableveil.state.mapper import Table


@dataclass(frozen=True, slots=True)
class Decision:
    """The one decision about a release, by the principal of that name; the note is for the ledger."""

    approved: bool
    by: str
    at: datetime
    note: str


DECISIONS = Table("decisions", Decision, "release", names={"by": "decided_by", "at": "decided_at"})


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The withdrawal of one release; `kept_objects` were changed after they were written, and not dropped."""

    at: datetime
    reason: str
    kept_objects: tuple[str, ...]


WITHDRAWALS = Table("withdrawals", Withdrawal, "release", names={"at": "withdrawn_at"})
