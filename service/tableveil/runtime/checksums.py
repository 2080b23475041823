"""Checksums of released rows, made once a release stands: its rows can be gone when the first report is asked for.

They sort a digest of each row, which costs a tenth of a job and more.
"""

from tableveil.backend import Database
from tableveil.lifecycle.row_checksum import stands, written_checksum
from tableveil.runtime.follow_up import FollowUp
from tableveil.state import reports
from tableveil.state.releases import STANDING


class Checksums(FollowUp):
    """Makes those that are missing; if one fails, the first report tries again."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "checksums")
        self._without: set[int] = set()

    def follow(self) -> None:
        """Makes the checksum of each release that has none."""
        with self._database.ledger() as ledger:
            numbers = [number for number in reports.without_checksum(ledger) if number not in self._without]
            releases = STANDING.among(ledger, numbers)
        for release in releases:
            # One that cannot have a checksum, or fails, is not tried at each release.
            self._without.add(release.number)
            if stands(release):
                with self._database.session() as session:
                    session.control = self._control
                    with session.transaction():
                        written_checksum(session, release)
