"""Readers of releases: whose a credential is, and which releases its principal may read."""

from tableveil.access import Access, AccessRole, visibility
from tableveil.backend import Database, seeing
from tableveil.identity import Authenticator, Credentials, Principal
from tableveil.state.release_objects import PublicRelease, public_releases

READING_ROLES = frozenset({AccessRole.STEWARD, AccessRole.APPROVER, AccessRole.ANALYST})
"""The roles that let a caller read the public objects of releases, as those of ReleaseService.ReadObject do."""


class ReaderAnswers:
    """Answers endpoints about their callers. May be used from any thread."""

    def __init__(self, authenticator: Authenticator, access: Access, database: Database) -> None:
        self._authenticator = authenticator
        self._access = access
        self._database = database

    def readable(self, credentials: Credentials) -> tuple[Principal, list[PublicRelease]]:
        """The principal of the credentials, and the releases that it may read, withdrawn ones included.

        Raises `Unauthenticated`.
        """
        principal = self._authenticator.authenticate(credentials)
        seen = visibility(self._access.grants, principal, READING_ROLES)
        with seeing(lambda: seen), self._database.ledger() as ledger:
            return principal, public_releases(ledger)
