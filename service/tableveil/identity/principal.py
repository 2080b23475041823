"""A caller that the server knows, and how it came to know them."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from tableveil.errors import is_shown

LONGEST_NAME = 200


def is_name(text: str) -> bool:
    """Whether a principal may have this name: 1 to 200 characters that show, none of them a space."""
    return 0 < len(text) <= LONGEST_NAME and " " not in text and is_shown(text)


class AuthenticatedBy(StrEnum):
    """The kind of credential that a caller proved to have."""

    TOKEN = "TOKEN"
    JWT = "JWT"
    CERTIFICATE = "CERTIFICATE"
    FILE = "FILE"
    """The database itself, opened by a command: file permissions let its user do everything."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A person or a program by its name, and the groups it belongs to.

    `roles` are those that its credential gives it on the whole server, by the names of `access.Role`; `token` is the
    digest of the token that gave them.
    """

    name: str
    groups: frozenset[str]
    authenticated_by: AuthenticatedBy
    roles: frozenset[str] = frozenset()
    token: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The proofs that came with a call: a bearer token, and the subject alternative names of a client certificate."""

    bearer: str | None = field(repr=False)
    certificate_names: tuple[str, ...]
    peer: str


class Unauthenticated(Exception):
    """The credentials prove nobody. The reason is for the audit alone: it would help a caller to guess."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Authenticator(Protocol):
    """Knows principals by their credentials. It is asked on every call, and every second while a stream runs."""

    def authenticate(self, credentials: Credentials) -> Principal:
        """The principal; raises `Unauthenticated`."""
