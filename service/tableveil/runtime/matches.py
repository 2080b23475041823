"""Looks for releases of the same people that the submitters of new releases may not see.

No check, dry run or job may do so: people who load a table and ask would learn who is in the tables of others.
"""

from collections.abc import Callable

from tableveil.backend import Database
from tableveil.lifecycle import unseen_matches
from tableveil.runtime.follow_up import FollowUp
from tableveil.state import matches
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now
from tableveil.state.releases import ORIGINS


class Matches(FollowUp):
    """Compares each release once with those that its submitter could not see, and records what it finds."""

    def __init__(self, database: Database, record: Callable[[AuditEntry], None]) -> None:
        """`record` appends to the audit. After a kill it may be told again what it was told."""
        super().__init__(database, "matches")
        self._record = record

    def follow(self) -> None:
        """Compares the releases that nobody has compared yet."""
        with self._database.session() as session:
            session.control = self._control
            for number in matches.unmatched(session.ledger):
                (release,) = ORIGINS.among(session.ledger, [number])
                read_matches = unseen_matches(session, release)
                for match in read_matches:
                    names = (f"releases/{match.release}", f"releases/{match.other}")
                    self._record(AuditEntry(now(), AuditEvent.MATCH, resources=names, note=match.finding))
                matches.store(session.ledger, number, read_matches)
