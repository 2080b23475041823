"""The address to listen on: this machine only, unless the operator says otherwise."""

from __future__ import annotations

import errno
import ipaddress
import re
import socket

import grpc

from tableveil.errors import BusyError, InvalidError, TableveilError, shortened

_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:\[\]]+)):(?P<port>[0-9]{1,5})")


def check_address(address: str, allow_remote: bool) -> None:
    """Raises `InvalidError` if the address is none, or reaches beyond this machine without `allow_remote`."""
    host, _ = _parsed(address)
    if not (allow_remote or _is_loopback(host)):
        raise InvalidError.of(
            "ADDRESS_REMOTE",
            "address",
            f"{shortened(address)}, which other machines can reach",
            "a loopback address such as 127.0.0.1 or [::1]",
            "There is no authentication yet: whoever reaches the server owns all its tables. If the network lets only "
            "the right people in, pass --allow-remote.",
        )


def bind(server: grpc.Server, address: str) -> int:
    """Makes the server listen on a checked address, and returns the port: the one asked for, or any if that is 0.

    Raises:
        BusyError: another process listens there.
        InvalidError: this machine cannot listen there.
    """
    try:
        return server.add_insecure_port(address)
    except RuntimeError:
        raise _diagnosis(address) from None


def with_port(address: str, port: int) -> str:
    """The address with the port that it was given in place of 0."""
    return f"{address.rpartition(':')[0]}:{port}"


def _parsed(address: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(address)
    if not match or int(match["port"]) > 65535:
        raise InvalidError.of("ADDRESS_INVALID", "address", shortened(address), "host:port, such as 127.0.0.1:50651")
    return match["six"] or match["host"], int(match["port"])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _diagnosis(address: str) -> TableveilError:
    """Why gRPC cannot listen; it says so only in its log. A plain socket tells."""
    host, port = _parsed(address)
    reason = "for a reason it does not give"
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return BusyError.of(
                "ADDRESS_IN_USE",
                "address",
                f"{shortened(address)}, on which another process listens",
                "a free port",
                "Stop the other process, or choose another port with --address.",
            )
        reason = error.strerror or type(error).__name__
    found = f"{shortened(address)}, which the system refuses: {reason}"
    return InvalidError.of("ADDRESS_UNUSABLE", "address", found, "an address of this machine and a port one may use")
