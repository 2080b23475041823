"""Certificates and keys from files, refused if they cannot work."""

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from tableveil.errors import InvalidError, shortened


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate, which those of the authorities above it may follow, and its private key, as PEM."""

    certificate: bytes
    key: bytes

    @property
    def ends(self) -> datetime:
        """When the certificate expires."""
        return x509.load_pem_x509_certificate(self.certificate).not_valid_after_utc


_OTHERS = stat.S_IRWXO


def read_pair(certificate: Path, key: Path, option: str) -> Pair:
    """The pair in two files, which the options `{option}_certificate` and `{option}_key` name.

    Raises:
        InvalidError: a file cannot be read or is no PEM, others may read the key, the certificate has expired or does
            not begin yet, or the key belongs to another certificate.
    """
    chain, key_certificates = _certificates(certificate, f"{option}_certificate")
    # The certificates of the authorities between this one and the root follow it.
    _require_valid(key_certificates[:1], certificate, f"{option}_certificate")
    secret, public = _private_key(key, f"{option}_key")
    if key_certificates[0].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) != public:
        raise InvalidError.of(
            "CERTIFICATE_KEY_MISMATCH",
            f"{option}_key",
            f"{shortened(str(key))}, which is the key of another certificate",
            f"the private key of the first certificate in {shortened(str(certificate))}",
            "Name the files that were issued together. In a chain, the certificate itself comes first.",
        )
    return Pair(chain, secret)


def read_authorities(path: Path, option: str) -> bytes:
    """The authorities' certificates in a file, as PEM.

    Raises:
        InvalidError: it cannot be read, has no certificate, or none that is valid now.
    """
    text, certificates = _certificates(path, option)
    _require_valid(certificates, path, option)
    return text


def _certificates(path: Path, option: str) -> tuple[bytes, list[x509.Certificate]]:
    text = _read(path, option)
    try:
        return text, x509.load_pem_x509_certificates(text)
    except ValueError:
        raise InvalidError.of(
            "CERTIFICATE_INVALID",
            option,
            f"{shortened(str(path))}, which holds no readable certificate",
            "a file with certificates in PEM",
            "Such a file begins with -----BEGIN CERTIFICATE-----.",
        ) from None


def _require_valid(certificates: Sequence[x509.Certificate], path: Path, option: str) -> None:
    """Raises `InvalidError` unless one of the certificates is valid now."""
    now = datetime.now(UTC)
    if any(certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc for certificate in certificates):
        return
    first = certificates[0]
    early = now < first.not_valid_before_utc
    since = f"is valid from {first.not_valid_before_utc:%F %T} UTC" if early else ""
    raise InvalidError.of(
        "CERTIFICATE_NOT_VALID_YET" if early else "CERTIFICATE_EXPIRED",
        option,
        f"{shortened(str(path))}, which {since or f'expired on {first.not_valid_after_utc:%F %T} UTC'}",
        "a certificate that is valid now",
        "Is the clock of this machine right?" if early else "Renew the certificate, and put it in the file's place.",
    )


def _private_key(path: Path, option: str) -> tuple[bytes, bytes]:
    """A private key and its public key, as PEM."""
    text = _read(path, option)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS:
        raise InvalidError.of(
            "KEY_EXPOSED",
            option,
            f"{shortened(str(path))} with mode {mode:04o}, which every account of this machine can open",
            "mode 0600, or 0640 for a group that may read it",
            f"Run `chmod o= {path}`. If others may have read the key, issue a new certificate.",
        )
    try:
        public = load_pem_private_key(text, None).public_key()
        return text, public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    except TypeError:
        actual, hint = "a key that is encrypted", "`openssl pkey -in FILE -out PLAIN` decrypts one."
    except (ValueError, UnsupportedAlgorithm):
        actual, hint = "no readable key", "Such a file begins with -----BEGIN PRIVATE KEY-----."
    actual = f"{shortened(str(path))}, which holds {actual}"
    raise InvalidError.of("KEY_INVALID", option, actual, "a private key in PEM, without a password", hint)


def _read(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        actual = f"{shortened(str(path))}, which cannot be read: {error.strerror}"
        raise InvalidError.of(
            "FILE_UNREADABLE", option, actual, "a file that this process may read", "Check the path, owner and mode."
        ) from None
