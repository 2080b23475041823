"""Principals by the JSON Web Tokens of an OpenID Connect provider."""

from dataclasses import dataclass
from typing import Any, TypeGuard

import jwt

from tableveil.errors import is_shown
from tableveil.identity.json_web_keys import KeySet
from tableveil.identity.principal import AuthenticatedBy, Credentials, Principal, Unauthenticated, is_name

PREFIX = "oidc:"
"""Begins the names of these principals and groups: a provider's user called admin is not the server's admin."""

LARGEST_TOKEN = 16 * 2**10
LEEWAY_SECONDS = 60.0
"""How much the clocks of provider and server may differ."""

_TYPES = ("jwt", "at+jwt", "application/jwt", "application/at+jwt")


@dataclass(frozen=True, slots=True)
class Provider:
    """The provider's tokens for this server, and the claims that name the principal and its groups."""

    issuer: str
    audience: str
    name_claim: str = "sub"
    groups_claim: str = "groups"


class JsonWebTokens:
    """Knows principals by signed tokens that are for this server and not expired. It is an `Authenticator`."""

    def __init__(self, provider: Provider, keys: KeySet) -> None:
        self._provider = provider
        self._keys = keys

    def authenticate(self, credentials: Credentials) -> Principal:
        """The principal that the token names; see `Authenticator`."""
        claims = self._claims(credentials.bearer or "")
        name, groups = claims.get(self._provider.name_claim), claims.get(self._provider.groups_claim, [])
        if not isinstance(name, str) or not is_name(PREFIX + name) or not name:
            raise Unauthenticated("JWT without a usable name")
        if isinstance(groups, str):
            groups = [groups]
        if not isinstance(groups, list) or not all(map(_is_group, groups)):
            raise Unauthenticated("JWT with unusable groups")
        return Principal(PREFIX + name, frozenset(PREFIX + group for group in groups), AuthenticatedBy.JWT)

    def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > LARGEST_TOKEN:
            raise Unauthenticated("JWT too large")
        try:
            header = jwt.get_unverified_header(token)
            # Other types are for other purposes: a notice that a user logged out names the user, too.
            if str(header.get("typ", "jwt")).lower() not in _TYPES:
                raise Unauthenticated("JWT of another type")
            key = self._keys.key(header.get("kid", ""))
            if key is None:
                raise Unauthenticated("JWT of an unknown key")
            claims = jwt.decode(
                token,
                key,
                # The key's, not the header's: otherwise HS256 with the public key as the secret would do.
                algorithms=[key.algorithm_name],
                audience=self._provider.audience,
                issuer=self._provider.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            # The text may quote the token.
            raise Unauthenticated(f"JWT refused: {type(error).__name__}") from None
        if "events" in claims:
            raise Unauthenticated("JWT of another type")
        return claims


def _is_group(found: object) -> TypeGuard[str]:
    # Names of groups may have spaces.
    return isinstance(found, str) and bool(found) and is_shown(found)
