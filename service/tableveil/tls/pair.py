"""A certificate and its key."""

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate, which those of the authorities above it may follow, and its private key, as PEM."""

    certificate: bytes
    key: bytes

    @property
    def ends(self) -> datetime:
        """When the certificate expires."""
        return x509.load_pem_x509_certificate(self.certificate).not_valid_after_utc
