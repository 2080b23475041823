"""The token of a server that serves only the process that started it."""

import hmac

from tableveil.identity.principal import Credentials, Principal, Unauthenticated
from tableveil.identity.secret import digest_of


class OwnToken:
    """Knows one caller, of whom nothing is stored. It is an `Authenticator`."""

    def __init__(self, secret: str, principal: Principal) -> None:
        self._digest = digest_of(secret)
        self._principal = principal

    def authenticate(self, credentials: Credentials) -> Principal:
        """The principal, if the token is that one."""
        if not hmac.compare_digest(digest_of(credentials.bearer or ""), self._digest):
            raise Unauthenticated("unknown token")
        return self._principal
