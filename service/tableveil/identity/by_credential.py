"""Chooses who knows a caller, by what the caller sent."""

from tableveil.identity.principal import Authenticator, Credentials, Principal
from tableveil.identity.secret import PREFIX


class ByCredential:
    """A bearer token decides, whatever certificate came with the connection; without one, the certificate does.

    So a proxy or a shared machine may have a certificate, and its users tokens of their own. A token that is refused
    does not fall back to the certificate. It is an `Authenticator`.
    """

    def __init__(
        self, tokens: Authenticator, json_web_tokens: Authenticator | None, certificates: Authenticator | None
    ) -> None:
        self._tokens = tokens
        self._json_web_tokens = json_web_tokens or tokens
        self._certificates = certificates or tokens

    def authenticate(self, credentials: Credentials) -> Principal:
        """The principal; see `Authenticator`."""
        if credentials.bearer is None:
            return self._certificates.authenticate(credentials)
        chosen = self._tokens if credentials.bearer.startswith(PREFIX) else self._json_web_tokens
        return chosen.authenticate(credentials)
