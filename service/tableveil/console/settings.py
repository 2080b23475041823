"""The settings of a console."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from tableveil.errors import InvalidError, shortened


@dataclass(frozen=True, slots=True)
class OpenIdSettings:
    """The provider that signs visitors in: its issuer, this console's client there, and where the provider sends them.

    The provider issues access tokens for the audience that the service accepts.
    """

    issuer: str
    client_id: str
    redirect_uri: str
    client_secret: str = ""
    scopes: str = "openid"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """Where the service is, and where and how the console listens."""

    service: str
    host: str = "127.0.0.1"
    port: int = 50680
    ca_certificate: Path | None = None
    allow_remote: bool = False
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    open_id: OpenIdSettings | None = None
    proxies: tuple[str, ...] = ()

    @property
    def secure(self) -> bool:
        """Whether browsers are spoken to by TLS."""
        return self.tls_certificate is not None

    def check(self) -> None:
        """Raises `InvalidError` if others could read what visitors see, or come in, without TLS."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidError.of("TLS_INCOMPLETE", "tls_certificate", "one file", "tls_certificate and tls_key")
        for proxy in self.proxies:
            try:
                ip_address(proxy)
            except ValueError:
                actual, expected = shortened(proxy), "the proxy's IP address, without a port"
                raise InvalidError.of("ADDRESS_INVALID", "proxy", actual, expected) from None
        if _is_loopback(self.host):
            return
        if not self.allow_remote:
            actual, expected = shortened(self.host), "a loopback address, such as 127.0.0.1"
            raise InvalidError.of("ADDRESS_REMOTE", "address", actual, expected, "Or say --allow-remote, with TLS.")
        if not self.secure:
            raise InvalidError.of(
                "TLS_MISSING", "tls_certificate", "none, for an address that other machines reach", "a certificate"
            )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
