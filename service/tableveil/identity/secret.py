"""The text of a token: a prefix that secret scanners find, 256 random bits, a checksum; and a server's own token."""

import hashlib
import hmac
import re
import secrets
import zlib
from pathlib import Path

from tableveil.identity.principal import Credentials, Principal, Unauthenticated

PREFIX = "tvl_"

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM, _CHECKSUM = 43, 6
"""Digits to the base 62 that hold 256 bits, and 32 bits."""

_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_RANDOM + _CHECKSUM}}}")


def new_secret() -> str:
    """A token that nobody has."""
    begin = PREFIX + _digits(int.from_bytes(secrets.token_bytes(32)), _RANDOM)
    return begin + _checksum(begin)


def is_well_formed(text: str) -> bool:
    """Whether it is a token, and whole: a copy that lost a character, or is made up, is not."""
    return _FORM.fullmatch(text) is not None and _checksum(text[:-_CHECKSUM]) == text[-_CHECKSUM:]


def digest_of(secret: str) -> str:
    """The digest by which the server knows a token. No salt: nobody can try all of 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def token_file(database: Path) -> Path:
    """The file beside a database in which the server leaves its first token."""
    return database.with_name(f".{database.name}.token")


def _checksum(begin: str) -> str:
    return _digits(zlib.crc32(begin.encode()), _CHECKSUM)


def _digits(number: int, length: int) -> str:
    text = ""
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        text = _DIGITS[digit] + text
    return text


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
