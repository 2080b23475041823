"""The headers of a call: its credential, a bearer token or a password that is one, and its wish for a spread."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence

from pyarrow import flight

CREDENTIALS = "credentials"
"""The name of the middleware, under which handlers find it."""


class Credential(flight.ServerMiddleware):  # type: ignore[misc]  # pyarrow has no types
    """The credential of one call. A password comes back as a bearer token, as Flight has it."""

    def __init__(self, bearer: str | None, signs_in: bool) -> None:
        self.bearer = bearer
        self._signs_in = signs_in

    def sending_headers(self) -> dict[str, str]:
        """The headers of the answer."""
        return {"authorization": f"Bearer {self.bearer}"} if self._signs_in else {}


class CredentialFactory(flight.ServerMiddlewareFactory):  # type: ignore[misc]  # pyarrow has no types
    """Reads the header `authorization` of each call."""

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, Sequence[str]]) -> Credential:
        """The credential; a header that cannot be read is a credential that proves nobody."""
        sent = _sent(headers, "authorization")
        if not sent:
            return Credential(None, signs_in=False)
        kind, _, text = sent[0].partition(" ")
        if len(sent) > 1 or not text.isascii():
            return Credential("", signs_in=False)
        if kind.lower() == "basic":
            password = _password(text)
            return Credential(password, signs_in=bool(password))
        return Credential(text if kind.lower() == "bearer" else "", signs_in=False)


SPREAD = "spread"
"""The name of the middleware that tells whether a call wants the spread of estimates."""

SPREAD_HEADER = "tableveil-spread"


class SpreadFactory(flight.ServerMiddlewareFactory):  # type: ignore[misc]  # pyarrow has no types
    """Reads the header `tableveil-spread` of each call."""

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, Sequence[str]]) -> flight.ServerMiddleware | None:
        """Something, for a header that says `true`."""
        wished = [value.lower() for value in _sent(headers, SPREAD_HEADER)]
        return flight.ServerMiddleware() if wished == ["true"] else None


class SignIn(flight.ServerAuthHandler):  # type: ignore[misc]  # pyarrow has no types
    """Lets clients sign in by Flight's handshake; every call is authenticated by its own header all the same."""

    def authenticate(self, outgoing: object, incoming: object) -> None:
        """Nothing: the middleware answers."""

    def is_valid(self, token: bytes) -> bytes:
        """Nobody: the handlers ask the service."""
        return b""


def _sent(headers: Mapping[str, Sequence[str]], wanted: str) -> Sequence[str]:
    return [value for name, values in headers.items() if name.lower() == wanted for value in values]


def _password(encoded: str) -> str:
    """The password of user and password; the token says whose it is."""
    try:
        # Clients written in Go leave the padding out.
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    password = text.partition(":")[2]
    return password if password.isprintable() else ""
