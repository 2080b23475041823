"""A caller that the server knows, and how it came to know them, by a client certificate for one."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from tableveil.errors import Fault, InvalidError, is_shown, shortened

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


NAME_KINDS = ("dns", "uri", "email", "ip")
"""The kinds of subject alternative names. A name is looked up with its kind: an authority that vouches for addresses of
people must not be able to vouch for hosts."""

_EXAMPLE = "dns:etl.clinic.example=etl"


class ClientCertificates:
    """Knows principals by the subject alternative names of their certificates. It is an `Authenticator`."""

    def __init__(self, principals: Mapping[str, str]) -> None:
        """`principals` are by names with their kinds, such as `dns:etl.clinic.example`."""
        self._principals = principals

    def authenticate(self, credentials: Credentials) -> Principal:
        """The principal that the certificate is for; see `Authenticator`."""
        if not credentials.certificate_names:
            raise Unauthenticated("no certificate with a name")
        principals = {self._principals[name] for name in credentials.certificate_names if name in self._principals}
        if len(principals) != 1:
            raise Unauthenticated("certificate of several principals" if principals else "certificate of nobody known")
        return Principal(principals.pop(), frozenset(), AuthenticatedBy.CERTIFICATE)


def principals_of(entries: Iterable[str]) -> dict[str, str]:
    """Principals by names with their kinds, from entries such as `dns:etl.clinic.example=etl`.

    Raises:
        InvalidError: an entry has another form, or a name has two principals.
    """
    principals: dict[str, str] = {}
    faults = list(_faults(entries, principals))
    if faults:
        raise InvalidError.about("CERTIFICATE_NAMES_INVALID", "these certificates cannot be mapped", faults)
    return principals


def _faults(entries: Iterable[str], found: dict[str, str]) -> Iterator[Fault]:
    for entry in entries:
        name, _, principal = entry.rpartition("=")
        kind, _, value = name.partition(":")
        if kind not in NAME_KINDS or not value or not is_name(principal):
            expected = f"{', '.join(NAME_KINDS)} or the like: a kind of name, a name and a principal, as in {_EXAMPLE}"
            yield Fault("certificate_principal", shortened(entry), expected)
        elif found.setdefault(name, principal) != principal:
            yield Fault("certificate_principal", f"two principals for {shortened(name)}", "one")
