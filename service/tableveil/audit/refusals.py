"""Counts of calls that are refused in numbers: an entry a peer and minute, however many calls there are."""

import threading
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now

MOST_COUNTED = 1000
"""Peers, principals and reasons that are counted apart within a minute; all others are counted as one."""

_MOST_MINUTES = 10
"""Minutes that are counted apart while no entry can be written."""

REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True)
class Refused:
    """Calls that are counted together. The peer has no port: each connection has another."""

    peer: str
    principal: str
    code: str
    reason: str


class Refusals:
    """The counts of the minutes that no entry tells of yet. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[datetime, Counter[Refused]] = {}

    def count(self, refused: Refused) -> None:
        """Counts a call."""
        minute = now().replace(second=0, microsecond=0)
        with self._lock:
            if len(self._counts) >= _MOST_MINUTES:
                minute = max(self._counts)
            counts = self._counts.setdefault(minute, Counter())
            if refused not in counts and len(counts) >= MOST_COUNTED:
                refused = Refused("others", "", refused.code, "")
            counts[refused] += 1

    def take(self, *, all_minutes: bool = False) -> list[AuditEntry]:
        """The entries of the minutes that are over, or of all; they are counted no more."""
        minute = now().replace(second=0, microsecond=0)
        with self._lock:
            over = [begun for begun in self._counts if all_minutes or begun < minute]
            return [_entry(begun, *counted) for begun in over for counted in self._counts.pop(begun).items()]


def without_port(peer: str) -> str:
    """The peer of a call, such as `ipv4:10.1.2.3`, without its port."""
    return peer.rpartition(":")[0] if peer.startswith(("ipv4:", "ipv6:")) else peer


def _entry(minute: datetime, refused: Refused, count: int) -> AuditEntry:
    return AuditEntry(
        minute,
        AuditEvent.REFUSALS,
        principal=refused.principal,
        peer=refused.peer,
        decision=REFUSED,
        code=refused.code,
        reason=refused.reason,
        count=count,
    )
