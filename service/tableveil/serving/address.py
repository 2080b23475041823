"""The addresses to listen on: socket files and ports of this machine only, unless the operator says otherwise."""

import errno
import grp
import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import grpc

from tableveil.errors import BusyError, InvalidError, TableveilError, shortened
from tableveil.serving.tls import PortCertificates, TlsFiles

DEFAULT_ADDRESS = "127.0.0.1:50651"

_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:\[\]]+)):(?P<port>[0-9]{1,5})")

_SOCKET_FILE, _TLS = "unix:", "tls:"

_LONGEST_SOCKET_FILE = 107
"""Bytes that the system has for the path of a socket (sockaddr_un)."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the server listens, and how.

    With `tls`, every port speaks TLS, and needs a certificate of its clients if `tls` names their authorities. An
    address that begins with `tls:` needs none. A socket file never speaks TLS: it is this machine's, and has a mode.
    """

    addresses: tuple[str, ...] = (DEFAULT_ADDRESS,)
    allow_remote: bool = False
    plaintext: bool = False
    tls: TlsFiles | None = None
    socket_mode: int = 0o600
    socket_group: str | None = None

    def check(self) -> None:
        """Looks at all that can be known before the server listens.

        Raises:
            InvalidError: an address is malformed, or reaches beyond this machine without `allow_remote`, or unencrypted
                without `plaintext`; or a certificate, key or group cannot work.
        """
        _require_one(self.addresses)
        for address in self.addresses:
            if address.startswith(_SOCKET_FILE):
                _socket_file(address)
            else:
                self._check_port(address)
        if self.tls:
            PortCertificates(self.tls)
        if self.socket_group is not None:
            _group(self.socket_group)

    def bind(self, server: grpc.Server) -> tuple[list[str], PortCertificates | None]:
        """Makes the server listen, and returns its addresses with their ports, and its certificate.

        Raises:
            BusyError: another process listens there.
            InvalidError: this machine cannot listen there.
        """
        certificates, bound = None, []
        for address in self.addresses:
            if address.startswith(_SOCKET_FILE):
                self._bind_socket_file(server, address)
                bound.append(address)
                continue
            _, place = _split(address)
            certificates = PortCertificates(files) if (files := self._tls_at(address)) else certificates
            try:
                if files and certificates:
                    port = server.add_secure_port(place, certificates.credentials())
                else:
                    port = server.add_insecure_port(place)
            except RuntimeError:
                raise _diagnosis(place) from None
            bound.append(f"{place.rpartition(':')[0]}:{port}")
        return bound, certificates

    def _tls_at(self, address: str) -> TlsFiles | None:
        prefix, _ = _split(address)
        return replace(self.tls, client_ca=None) if self.tls and prefix else self.tls

    def _check_port(self, address: str) -> None:
        prefix, place = _split(address)
        host, _ = _parsed(place)
        if prefix and not self.tls:
            hint = "Pass --tls-certificate and --tls-key."
            raise InvalidError.of("ADDRESS_INVALID", "address", f"{shortened(address)}, without TLS", "TLS there", hint)
        if _is_loopback(host):
            return
        if not self.allow_remote:
            raise _remote(address)
        if not (self.plaintext or self.tls):
            raise InvalidError.of(
                "ADDRESS_PLAINTEXT",
                "address",
                f"{shortened(address)}, to which tokens and rows would come unencrypted",
                "TLS, or an address of this machine",
                "Pass --tls-certificate and --tls-key, or --plaintext if a proxy in front of the server ends TLS.",
            )

    def _bind_socket_file(self, server: grpc.Server, address: str) -> None:
        path = _socket_file(address)
        _require_unused(path)
        try:
            server.add_insecure_port(address)
        except RuntimeError:
            raise _diagnosis(address) from None
        # For any umask of the process. No call is answered before.
        path.chmod(0o600)
        if self.socket_group is not None:
            try:
                os.chown(path, -1, _group(self.socket_group))
            except OSError as error:
                actual = f"{shortened(self.socket_group)}, which the system refuses: {error.strerror}"
                hint = "Let the server's user be in the group."
                raise InvalidError.of("GROUP_INVALID", "socket_group", actual, "a group of the user", hint) from None
        path.chmod(self.socket_mode)


def check_probed_address(address: str, field: str, allow_remote: bool) -> tuple[str, int]:
    """The host and the port, of this machine unless `allow_remote`; raises `InvalidError` if it is another one."""
    host, port = _parsed(address, field)
    if not (allow_remote or _is_loopback(host)):
        raise _remote(address, field)
    return host, port


@contextmanager
def listening_for_probes(address: str, field: str) -> Iterator[tuple[str, int]]:
    """The host and the port of a checked address, at which the block begins to listen.

    Raises:
        BusyError: another process listens there.
        InvalidError: this machine cannot listen there.
    """
    place = check_probed_address(address, field, allow_remote=True)
    try:
        yield place
    except OSError as error:
        actual = f"{shortened(address)}, which the system refuses: {error.strerror}"
        if error.errno == errno.EADDRINUSE:
            raise BusyError.of("ADDRESS_IN_USE", field, actual, "a port that is free") from None
        raise InvalidError.of(
            "ADDRESS_UNUSABLE", field, actual, "an address of this machine and a port one may use"
        ) from None


def _remote(address: str, field: str = "address") -> InvalidError:
    """The refusal of an address that other machines reach."""
    return InvalidError.of(
        "ADDRESS_REMOTE",
        field,
        f"{shortened(address)}, which other machines can reach",
        "a loopback address such as 127.0.0.1 or [::1]",
        "If other machines are to reach it, pass --allow-remote.",
    )


def _socket_file(address: str) -> Path:
    path = Path(address.removeprefix(_SOCKET_FILE))
    if not path.is_absolute() or "\0" in address or len(bytes(path)) > _LONGEST_SOCKET_FILE:
        expected = f"{_SOCKET_FILE} and the absolute path of a socket file, of at most {_LONGEST_SOCKET_FILE} bytes"
        raise InvalidError.of("ADDRESS_INVALID", "address", shortened(address), expected)
    return path


def _require_unused(path: Path) -> None:
    """Raises `BusyError` if a process listens there: gRPC would replace its file, and it would get no more calls."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(bytes(path))
        except OSError:
            return
    raise _in_use(f"{_SOCKET_FILE}{path}", "another socket file")


def _group(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise InvalidError.of("GROUP_INVALID", "socket_group", shortened(name), "a group of this machine") from None


def _require_one(addresses: tuple[str, ...]) -> None:
    if not addresses:
        raise InvalidError.of("ADDRESS_INVALID", "address", "none", "at least one")


def _split(address: str) -> tuple[str, str]:
    """The prefix, if there is one, and the host with its port. A host may be called tls."""
    rest = address.removeprefix(_TLS)
    return (_TLS, rest) if rest != address and ":" in rest else ("", address)


def _parsed(address: str, field: str = "address") -> tuple[str, int]:
    match = _ADDRESS.fullmatch(address)
    if not match or int(match["port"]) > 65535:
        expected = "host:port, such as 127.0.0.1:50651, or unix:/path/to/socket"
        raise InvalidError.of("ADDRESS_INVALID", field, shortened(address), expected)
    return match["six"] or match["host"], int(match["port"])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _diagnosis(address: str) -> TableveilError:
    """The reason why gRPC cannot listen; gRPC only logs it. A plain socket gives the reason."""
    if address.startswith(_SOCKET_FILE):
        actual = f"{shortened(address)}, where no socket can be made"
        expected = "a path in an existing, writable directory, where nothing is"
        return InvalidError.of("ADDRESS_UNUSABLE", "address", actual, expected)
    host, port = _parsed(address)
    reason = "for a reason it does not give"
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return _in_use(address, "another port")
        reason = error.strerror or type(error).__name__
    actual = f"{shortened(address)}, which the system refuses: {reason}"
    return InvalidError.of("ADDRESS_UNUSABLE", "address", actual, "an address of this machine and a port one may use")


def _in_use(address: str, other: str) -> BusyError:
    return BusyError.of(
        "ADDRESS_IN_USE",
        "address",
        f"{shortened(address)}, on which another process listens",
        "an address that no other process has",
        f"Stop the other process, or choose {other} with --address.",
    )
