"""TLS of a client: the files that it needs, and what its failures mean."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import grpc

from tableveil.errors import Fault, InvalidError

_ENVIRONMENT = "TABLEVEIL_CA_CERTIFICATE", "TABLEVEIL_CLIENT_CERTIFICATE", "TABLEVEIL_CLIENT_KEY"

SPEAKS_TLS = "If it speaks TLS, name its authorities with --ca-certificate or TABLEVEIL_CA_CERTIFICATE."

_CONNECTING = "failed to connect"
_NOT_VERIFIED = re.compile(r"(?:CERTIFICATE_VERIFY_FAILED|BAD_SIGNATURE): ([\w ]+)")
_CLOSED = re.compile(r"Socket closed|reset by peer|Broken pipe|handshaker shutdown|Endpoint closing")


@dataclass(frozen=True, slots=True)
class Encryption:
    """The authorities that a server's certificate must come from, and the client's own certificate, if it has one."""

    ca_certificate: Path
    client_certificate: Path | None = None
    client_key: Path | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """Credentials for a connection; raises `InvalidError` if a file cannot work."""
        # It loads a library that clients without TLS need not wait for.
        from tableveil.tls import read_pair

        authorities = self.authorities()
        if self.client_certificate is None or self.client_key is None:
            return grpc.ssl_channel_credentials(authorities)
        pair = read_pair(self.client_certificate, self.client_key, "client")
        return grpc.ssl_channel_credentials(authorities, pair.key, pair.certificate)

    def authorities(self) -> bytes:
        """The authorities' certificates as PEM; raises `InvalidError` if the file cannot work."""
        from tableveil.tls import read_authorities

        return read_authorities(self.ca_certificate, "ca_certificate")


def find_encryption(
    address: str, ca_certificate: Path | None, client_certificate: Path | None, client_key: Path | None
) -> Encryption | None:
    """The files as given, or else those that the environment names; none for a socket file, which speaks no TLS.

    Raises:
        InvalidError: a certificate comes without its key, or without the authorities of the server.
    """
    given = (ca_certificate, client_certificate, client_key)
    if given == (None, None, None):
        named = (os.environ.get(name) for name in _ENVIRONMENT)
        ca_certificate, client_certificate, client_key = (Path(name) if name else None for name in named)
    if address.startswith("unix:"):
        return None
    if bool(client_certificate) != bool(client_key):
        missing, other = ("client_key", "certificate") if client_certificate else ("client_certificate", "key")
        raise InvalidError.of("TLS_INCOMPLETE", missing, "none", f"the file that belongs to the {other}")
    if ca_certificate is None and client_certificate is not None:
        expected = "the authorities of the server's certificate"
        raise InvalidError.of("TLS_INCOMPLETE", "ca_certificate", "none", expected)
    return Encryption(ca_certificate, client_certificate, client_key) if ca_certificate else None


def fault_of_handshake(text: str, address: str, encryption: Encryption | None) -> Fault | None:
    """The fault in TLS that the text of a failed connection tells of, if it does."""
    if _CONNECTING not in text:
        return None
    if refused := _NOT_VERIFIED.search(text):
        return Fault(
            "ca_certificate",
            f"a certificate of {address} that these authorities do not vouch for: {refused[1].strip()}",
            "a certificate of theirs",
            "Name the authorities of the server's certificate; if it has expired, the operator has to renew it.",
        )
    if "Hostname Verification" in text:
        return Fault(
            "server",
            f"a certificate without the name by which you reach it, {address}",
            "one with this name",
            "Name the server as its certificate does, or ask the operator for a certificate with this name.",
        )
    if "WRONG_VERSION_NUMBER" in text:
        hint = "Leave out --ca-certificate and TABLEVEIL_CA_CERTIFICATE if tokens and rows may go there unencrypted."
        return Fault("server", f"no TLS at {address}", "TLS", hint)
    if _CLOSED.search(text):
        return Fault("server", f"a connection that {address} closed at once", "an answer", _reason_to_close(encryption))
    return None


def _reason_to_close(encryption: Encryption | None) -> str:
    if encryption is None:
        return SPEAKS_TLS
    if encryption.client_certificate is None:
        return "If it needs a certificate of yours, name it with --client-certificate and --client-key."
    return "It may not accept your certificate: it has to come from the authorities that the server names."
