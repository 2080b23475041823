"""A client certificate is the principal that the operator mapped its names to, and nobody without one."""

import pytest

from tableveil.errors import InvalidError
from tableveil.identity import AuthenticatedBy, Credentials, Principal, Unauthenticated
from tableveil.identity.by_credential import ByCredential
from tableveil.identity.principal import ClientCertificates, principals_of

ETL = Principal("etl", frozenset(), AuthenticatedBy.CERTIFICATE)


@pytest.fixture
def certificates() -> ClientCertificates:
    return ClientCertificates(
        principals_of(["dns:etl.example=etl", "uri:spiffe://clinic/etl?a=b=etl", "dns:other.example=other"])
    )


def with_names(*names: str, bearer: str | None = None) -> Credentials:
    return Credentials(bearer, names, "ipv4:127.0.0.1:1")


def test_names(certificates: ClientCertificates) -> None:
    assert certificates.authenticate(with_names("dns:etl.example")) == ETL
    assert certificates.authenticate(with_names("dns:unknown.example", "uri:spiffe://clinic/etl?a=b")) == ETL
    assert certificates.authenticate(with_names("dns:etl.example", "uri:spiffe://clinic/etl?a=b")) == ETL


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("dns:unknown.example",),
        # Another kind of name, which another authority may vouch for.
        ("email:etl.example",),
        ("etl.example",),
        ("dns:etl.example", "dns:other.example"),
    ],
)
def test_names_of_nobody(certificates: ClientCertificates, names: tuple[str, ...]) -> None:
    with pytest.raises(Unauthenticated, match="certificate"):
        certificates.authenticate(with_names(*names))


@pytest.mark.parametrize(
    "entry",
    [
        "dns:etl.example=et\u2060l",
        "",
        "etl",
        "dns:etl.example",
        "dns:=etl",
        "dns:etl.example=",
        "cn:etl=etl",
        "dns:etl.example= etl",
    ],
)
def test_mappings_that_are_refused(entry: str) -> None:
    with pytest.raises(InvalidError) as raised:
        principals_of(["dns:other.example=other", entry])
    assert raised.value.faults[0].field == "certificate_principal"


def test_two_principals_for_a_name() -> None:
    with pytest.raises(InvalidError, match="two principals"):
        principals_of(["dns:etl.example=etl", "dns:etl.example=other"])


class Knows:
    """Says which authenticator was asked."""

    def __init__(self, name: str) -> None:
        self._name = name

    def authenticate(self, credentials: Credentials) -> Principal:
        return Principal(self._name, frozenset(), AuthenticatedBy.TOKEN)


@pytest.mark.parametrize(
    ("credentials", "asked", "of_two"),
    [
        (with_names("dns:etl.example"), "certificate", "token"),
        (with_names("dns:etl.example", bearer="tvl_x"), "token", "token"),
        (with_names("dns:etl.example", bearer="e30.e30."), "jwt", "token"),
        # A bad token is not made up for by a certificate.
        (with_names("dns:etl.example", bearer=""), "jwt", "token"),
        (with_names(), "certificate", "token"),
    ],
)
def test_what_a_caller_is_known_by(credentials: Credentials, asked: str, of_two: str) -> None:
    tokens, others = Knows("token"), (Knows("jwt"), Knows("certificate"))
    assert ByCredential(tokens, *others).authenticate(credentials).name == asked
    assert ByCredential(tokens, None, None).authenticate(credentials).name == of_two
