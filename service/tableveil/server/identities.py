"""Everything by which the operator lets the server know its callers."""

from tableveil.identity import Authenticator, Credentials, Principal
from tableveil.identity.by_credential import ByCredential
from tableveil.identity.certificates import ClientCertificates, principals_of
from tableveil.identity.json_web_keys import KeySet, source_of_keys
from tableveil.identity.json_web_tokens import JsonWebTokens, Provider
from tableveil.serving.settings import ServeSettings


class Identities:
    """Tokens, JSON Web Tokens of a provider, and client certificates. It is an `Authenticator`; close it when done."""

    def __init__(self, settings: ServeSettings, tokens: Authenticator) -> None:
        """Reads the provider's keys for the first time, if there is one; `check_identities` was passed."""
        principals = principals_of(settings.certificate_principals)
        self._keys = KeySet(*source_of_keys(settings.oidc_keys)) if settings.oidc_keys else None
        provider = Provider(
            settings.oidc_issuer or "",
            settings.oidc_audience or "",
            settings.oidc_name_claim,
            settings.oidc_groups_claim,
        )
        self._by_credential = ByCredential(
            tokens,
            JsonWebTokens(provider, self._keys) if self._keys else None,
            ClientCertificates(principals) if principals else None,
        )

    def authenticate(self, credentials: Credentials) -> Principal:
        """The principal; see `Authenticator`."""
        return self._by_credential.authenticate(credentials)

    def close(self) -> None:
        """Reads keys no more."""
        if self._keys:
            self._keys.close()


def check_identities(settings: ServeSettings) -> None:
    """Raises `InvalidError` for a mapping of certificates, or a place of keys, that cannot work."""
    principals_of(settings.certificate_principals)
    if settings.oidc_keys:
        source_of_keys(settings.oidc_keys)
