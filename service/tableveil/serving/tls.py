"""TLS at a port: the server's certificate, renewed as its files are, and the names in those of clients."""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import cast

import grpc
from cryptography import x509

from tableveil.errors import InvalidError
from tableveil.operate import Finding, Level
from tableveil.tls import read_authorities, read_pair

logger = logging.getLogger("tableveil.server")

SOON = timedelta(days=14)
"""A certificate that ends sooner has to be renewed."""

_KINDS = {"peer_dns": "dns", "peer_uri": "uri", "peer_email": "email", "peer_ip": "ip"}
"""Kinds of names, as in `tableveil.identity.certificates`, by what gRPC calls them."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files of the server's certificate and key, and of the authorities that certify its clients."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


class PortCertificates:
    """The certificate of a port. gRPC asks for another one before each handshake, and keeps it if there is none."""

    def __init__(self, files: TlsFiles) -> None:
        """With authorities of clients, every client of the port needs a certificate of theirs.

        Raises:
            InvalidError: the files cannot work.
        """
        self._files = files
        # gRPC asks from several threads.
        self._lock = threading.Lock()
        self._stamps = self._stamps_now()
        self._configuration = self._read()

    @property
    def ends(self) -> datetime:
        """When the certificate expires."""
        return self._ends

    def examine(self) -> Finding:
        """Whether the certificate has to be renewed."""
        actual, left = f"expires on {self._ends:%F %T} UTC", self._ends - datetime.now(UTC)
        if left > SOON:
            return Finding(Level.OK, "certificate", actual)
        level = Level.WARNING if left > timedelta(0) else Level.PROBLEM
        return Finding(
            level, "certificate", actual, "Put a renewed one in the place of the file; no restart is needed."
        )

    def credentials(self) -> grpc.ServerCredentials:
        """Credentials for the port: TLS 1.2 or 1.3, as gRPC has it."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration,
            self._renewed,  # type: ignore[arg-type]  # it may return None
            require_client_authentication=self._files.client_ca is not None,
        )

    def _renewed(self) -> grpc.ServerCertificateConfiguration | None:
        with self._lock:
            stamps = self._stamps_now()
            if stamps == self._stamps:
                return None
            # Also if it fails: files that cannot work are reported once, and looked at again when they change.
            self._stamps = stamps
            try:
                self._configuration = self._read()
            except InvalidError as error:
                logger.error("the earlier certificate stays in use: %s", error)
                return None
            logger.info("a renewed certificate is in use; it expires on %s", f"{self._ends:%F %T} UTC")
            return self._configuration

    def _read(self) -> grpc.ServerCertificateConfiguration:
        pair = read_pair(self._files.certificate, self._files.key, "tls")
        authorities = read_authorities(self._files.client_ca, "tls_client_ca") if self._files.client_ca else None
        self._ends = pair.ends
        return grpc.ssl_server_certificate_configuration([(pair.key, pair.certificate)], authorities)

    def _stamps_now(self) -> tuple[object, ...]:
        """Changes if one of the files does."""
        stamps = []
        for path in filter(None, (self._files.certificate, self._files.key, self._files.client_ca)):
            try:
                status = path.stat()
                stamps.append((status.st_ino, status.st_mtime_ns, status.st_size))
            except OSError:
                stamps.append((0, 0, 0))
        return tuple(stamps)


def certificate_names(context: grpc.ServicerContext) -> tuple[str, ...]:
    """The subject alternative names in the caller's certificate, with their kinds; none once it has expired.

    gRPC checked the certificate when the connection was made, which may have been long ago.
    """
    context_values = cast(Mapping[str, Sequence[bytes]], context.auth_context())
    if not (certificate := context_values.get("x509_pem_cert")) or _ends(certificate[0]) < datetime.now(UTC):
        return ()
    return tuple(
        f"{kind}:{name.decode(errors='surrogateescape')}"
        for key, kind in _KINDS.items()
        for name in context_values.get(key, ())
    )


@lru_cache(1024)
def _ends(certificate: bytes) -> datetime:
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc
