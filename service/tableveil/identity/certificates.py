"""Principals by client certificates: the operator says whose each name in them is."""

from collections.abc import Iterable, Iterator, Mapping

from tableveil.errors import Fault, InvalidError, shortened
from tableveil.identity.principal import AuthenticatedBy, Credentials, Principal, Unauthenticated, is_name

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
