"""The address to listen on: a socket file or a port of this machine only, unless the operator says otherwise."""

from __future__ import annotations

import errno
import ipaddress
import re
import socket
from pathlib import Path

import grpc

from tableveil.errors import BusyError, InvalidError, TableveilError, shortened

_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:\[\]]+)):(?P<port>[0-9]{1,5})")

_SOCKET_FILE = "unix:"

_LONGEST_SOCKET_FILE = 107
"""Bytes that the system has for the path of a socket (sockaddr_un)."""


def check_address(address: str, allow_remote: bool, plaintext: bool) -> None:
    """Checks an address; `plaintext` says that calls may pass unencrypted beyond this machine.

    Raises:
        InvalidError: it is malformed, or reaches beyond this machine without `allow_remote`, or unencrypted without
            `plaintext`.
    """
    if address.startswith(_SOCKET_FILE):
        # Only its user may connect: see `bind`.
        _socket_file(address)
        return
    host, _ = _parsed(address)
    if _is_loopback(host):
        return
    if not allow_remote:
        raise InvalidError.of(
            "ADDRESS_REMOTE",
            "address",
            f"{shortened(address)}, which other machines can reach",
            "a loopback address such as 127.0.0.1 or [::1]",
            "If other machines are to reach it, pass --allow-remote.",
        )
    if not plaintext:
        raise InvalidError.of(
            "ADDRESS_PLAINTEXT",
            "address",
            f"{shortened(address)}, to which tokens and rows would come unencrypted",
            "TLS, or an address of this machine",
            "Pass --tls-certificate and --tls-key, or --plaintext if a proxy in front of the server ends TLS.",
        )


def bind(server: grpc.Server, address: str) -> int:
    """Makes the server listen on a checked address, and returns the port: the requested one, or any if that is 0.

    Raises:
        BusyError: another process listens there.
        InvalidError: this machine cannot listen there.
    """
    socket_file = _socket_file(address) if address.startswith(_SOCKET_FILE) else None
    if socket_file is not None:
        _require_unused(socket_file)
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        raise _diagnosis(address) from None
    if socket_file is not None:
        # For any umask of the process: a process that can connect has the rights of the owner of all tables. No call is
        # answered before.
        socket_file.chmod(0o600)
    return port


def with_port(address: str, port: int) -> str:
    """The address with the port that it was given in place of 0; a socket file has none."""
    if address.startswith(_SOCKET_FILE):
        return address
    return f"{address.rpartition(':')[0]}:{port}"


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


def _parsed(address: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(address)
    if not match or int(match["port"]) > 65535:
        expected = "host:port, such as 127.0.0.1:50651, or unix:/path/to/socket"
        raise InvalidError.of("ADDRESS_INVALID", "address", shortened(address), expected)
    return match["six"] or match["host"], int(match["port"])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _diagnosis(address: str) -> TableveilError:
    """The reason why gRPC cannot listen; gRPC only logs it. A plain socket gives the reason."""
    if address.startswith(_SOCKET_FILE):
        found = f"{shortened(address)}, where no socket can be made"
        expected = "a path in an existing, writable directory, where nothing is"
        return InvalidError.of("ADDRESS_UNUSABLE", "address", found, expected)
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
    found = f"{shortened(address)}, which the system refuses: {reason}"
    return InvalidError.of("ADDRESS_UNUSABLE", "address", found, "an address of this machine and a port one may use")


def _in_use(address: str, other: str) -> BusyError:
    return BusyError.of(
        "ADDRESS_IN_USE",
        "address",
        f"{shortened(address)}, on which another process listens",
        "an address that no other process has",
        f"Stop the other process, or choose {other} with --address.",
    )
