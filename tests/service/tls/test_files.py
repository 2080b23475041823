"""A certificate that cannot work is refused before it is used, with the option, the finding and the way out."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tableveil.errors import InvalidError
from tableveil.tls import read_authorities, read_pair
from tests.service.tls.authorities import DAY, Authority, Files


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def refused(files: Files) -> tuple[str, str]:
    """The code of the refusal and the option that it names."""
    with pytest.raises(InvalidError) as raised:
        read_pair(files.certificate, files.key, "tls")
    (fault,) = raised.value.faults
    assert fault.found
    assert fault.expected
    assert fault.hint
    return raised.value.code, fault.field


def test_a_pair(authority: Authority) -> None:
    files = authority.server()
    files.key.chmod(0o640)
    pair = read_pair(files.certificate, files.key, "tls")
    assert (pair.certificate, pair.key) == (files.certificate.read_bytes(), files.key.read_bytes())
    # Authorities in between follow, expired or not: clients decide by the path that they find.
    files.certificate.write_bytes(pair.certificate + authority.server(valid=-DAY).certificate.read_bytes())
    files.key.write_bytes(pair.key)
    assert read_pair(files.certificate, files.key, "tls").ends == pair.ends


def exposed(files: Files, _: Authority) -> None:
    files.key.chmod(0o604)


def missing(files: Files, _: Authority) -> None:
    files.key.unlink()


def of_another(files: Files, authority: Authority) -> None:
    files.key.write_bytes(authority.client("x").key.read_bytes())


def encrypted(files: Files, _: Authority) -> None:
    key = load_pem_private_key(files.key.read_bytes(), None)
    encryption = BestAvailableEncryption(b"secret")
    files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))


def swapped(files: Files, _: Authority) -> None:
    files.key.write_bytes(files.certificate.read_bytes())


def chain_turned_round(files: Files, authority: Authority) -> None:
    files.certificate.write_bytes(authority.certificate.read_bytes() + files.certificate.read_bytes())


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (exposed, "KEY_EXPOSED"),
        (missing, "FILE_UNREADABLE"),
        (of_another, "CERTIFICATE_KEY_MISMATCH"),
        (encrypted, "KEY_INVALID"),
        (swapped, "KEY_INVALID"),
        (chain_turned_round, "CERTIFICATE_KEY_MISMATCH"),
    ],
)
def test_keys_that_are_refused(authority: Authority, spoil: Callable[[Files, Authority], None], code: str) -> None:
    files = authority.server()
    spoil(files, authority)
    assert refused(files) == (code, "tls_key")


def test_certificates_that_are_refused(authority: Authority, tmp_path: Path) -> None:
    assert refused(authority.server(valid=-DAY)) == ("CERTIFICATE_EXPIRED", "tls_certificate")
    files = authority.server()
    assert refused(Files(files.key, files.key)) == ("CERTIFICATE_INVALID", "tls_certificate")
    assert refused(Files(tmp_path, files.key)) == ("FILE_UNREADABLE", "tls_certificate")
    files.certificate.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert refused(files) == ("CERTIFICATE_INVALID", "tls_certificate")


def test_authorities(authority: Authority, tmp_path: Path) -> None:
    current, expired = authority.certificate.read_bytes(), authority.server(valid=-DAY).certificate
    both = tmp_path / "both.pem"
    both.write_bytes(expired.read_bytes() + current)
    assert read_authorities(both, "tls_client_ca") == both.read_bytes()
    for path, code in ((expired, "CERTIFICATE_EXPIRED"), (tmp_path / "none.pem", "FILE_UNREADABLE")):
        with pytest.raises(InvalidError) as raised:
            read_authorities(path, "tls_client_ca")
        assert (raised.value.code, raised.value.faults[0].field) == (code, "tls_client_ca")
