"""The decisions about releases that need the approval of another person."""

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
