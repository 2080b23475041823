"""A private authority for a try-out, and the certificates that it signs for servers and clients."""

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tableveil.tls.files import Pair

_AUTHORITY_DAYS = 3650
_SKEW = timedelta(minutes=5)
"""How much a client's clock may be behind."""


def new_authority() -> Pair:
    """An authority that signs certificates of servers and clients, but no other authority's."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("Tableveil private authority")
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    builder = _builder(name, key, timedelta(days=_AUTHORITY_DAYS)).add_extension(constraints, critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return _signed(builder, key, name, key)


def issue_server(authority: Pair, hosts: Iterable[str], valid: timedelta) -> Pair:
    """A certificate for a server that clients reach by these names or IP addresses."""
    return _issue(
        authority, "Tableveil server", [_general_name(h) for h in hosts], ExtendedKeyUsageOID.SERVER_AUTH, valid
    )


def issue_client(authority: Pair, names: Iterable[str], valid: timedelta) -> Pair:
    """A certificate for a client that goes by these names, DNS names as a rule; it may have none."""
    return _issue(
        authority, "Tableveil client", [_general_name(n) for n in names], ExtendedKeyUsageOID.CLIENT_AUTH, valid
    )


def _issue(
    authority: Pair, subject: str, names: list[x509.GeneralName], purpose: x509.ObjectIdentifier, valid: timedelta
) -> Pair:
    signer = load_pem_private_key(authority.key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_name(subject), key, valid)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _signed(builder, key, x509.load_pem_x509_certificate(authority.certificate).subject, signer)


def _builder(subject: x509.Name, key: ec.EllipticCurvePrivateKey, valid: timedelta) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + min(valid, timedelta()) - _SKEW)
        .not_valid_after(now + valid)
    )


def _signed(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
) -> Pair:
    # Two authorities may have one name: the identifiers of their keys say which is meant.
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    above = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = builder.add_extension(own, critical=False).add_extension(above, critical=False)
    return Pair(
        builder.issuer_name(issuer).sign(signer, SHA256()).public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
