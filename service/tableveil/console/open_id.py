"""An OpenID Connect provider: the code flow with PKCE (RFC 7636), for a console."""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx2
import jwt

from tableveil.client.failures import UnreachableError
from tableveil.console.settings import OpenIdSettings
from tableveil.errors import InvalidError, UnauthenticatedError

LOGIN_SECONDS = 600
_SECONDS = 10.0
_ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")


@dataclass(frozen=True, slots=True)
class Login:
    """The secrets to remember until a visitor is back from the provider: each 32 random bytes as URL-safe text."""

    state: str
    nonce: str
    verifier: str


class SignInProvider:
    """Sends visitors to the provider, and turns its codes into tokens."""

    def __init__(self, settings: OpenIdSettings) -> None:
        self._settings = settings

    def begin(self) -> tuple[Login, str]:
        """A login, and the provider's address for it.

        Raises:
            UnreachableError: the provider does not answer.
        """
        login = Login(*(secrets.token_urlsafe(32) for _ in range(3)))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(login.verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._settings.redirect_uri,
            "scope": self._settings.scopes,
            "state": login.state,
            "nonce": login.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return login, f"{self._discovered()['authorization_endpoint']}?{urlencode(asked)}"

    def complete(self, login: Login, code: str) -> tuple[str, float]:
        """The access token for a code, and when it ends, in seconds since 1970.

        Raises:
            UnauthenticatedError: the provider takes no such code, or its answer is not for this login.
            UnreachableError: the provider does not answer.
        """
        places = self._discovered()
        answer = self._asked(
            "POST",
            places["token_endpoint"],
            data={
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": self._settings.redirect_uri,
                "client_id": self._settings.client_id,
                "code_verifier": login.verifier,
                **({"client_secret": self._settings.client_secret} if self._settings.client_secret else {}),
            },
        )
        try:
            keys = jwt.PyJWKSet.from_dict(self._asked("GET", places["jwks_uri"]))
            identity, access = str(answer["id_token"]), str(answer["access_token"])
            key = keys[jwt.get_unverified_header(identity)["kid"]]
            claims = jwt.decode(
                identity,
                key,
                algorithms=_ALGORITHMS,
                audience=self._settings.client_id,
                issuer=self._settings.issuer,
                options={"require": ["exp", "nonce"]},
            )
            # The service checks the signature; here only its end is read.
            ends = float(jwt.decode(access, options={"verify_signature": False})["exp"])
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            raise _refused() from None
        if not secrets.compare_digest(str(claims["nonce"]).encode(), login.nonce.encode()):
            raise _refused()
        return access, ends

    def _discovered(self) -> dict[str, Any]:
        found = self._asked("GET", f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self._settings.issuer:
            raise InvalidError.of("PROVIDER_INVALID", "openid_issuer", "another issuer", "the provider's own name")
        return found

    def _asked(self, method: str, address: str, **sent: Any) -> dict[str, Any]:
        try:
            answer = httpx2.request(method, address, timeout=_SECONDS, **sent)
            if 400 <= answer.status_code < 500:
                raise _refused()
            found: dict[str, Any] = answer.raise_for_status().json()
        except (httpx2.HTTPError, ValueError):
            # Their texts may have the code, or an address with a secret.
            raise UnreachableError("PROVIDER_UNREACHABLE", "the provider that signs you in does not answer") from None
        return found


def _refused() -> UnauthenticatedError:
    return UnauthenticatedError("LOGIN_REFUSED", "the provider did not sign you in: begin again")
