"""Entries to syslog, beside the file: a message each, as RFC 3164 has it."""

import re
import socket
from collections.abc import Sequence

from tableveil.errors import InvalidError, shortened

_PRIORITY = 10 * 8 + 6
"""Facility authpriv, severity informational."""

_SECONDS = 1.0


class Syslog:
    """A syslog daemon: the path of its socket, such as /dev/log, or host:port for UDP."""

    def __init__(self, address: str) -> None:
        """Raises `InvalidError` if the address is neither."""
        place = re.fullmatch(r"(?P<host>[^:/\s]+):(?P<port>[0-9]{1,5})", address)
        if place is None and not address.startswith("/"):
            expected = "the path of a socket, such as /dev/log, or host:port"
            raise InvalidError.of("SYSLOG_INVALID", "audit_syslog", shortened(address), expected)
        self._address = address if place is None else (place["host"], int(place["port"]))

    def send(self, lines: Sequence[bytes]) -> None:
        """Sends each line; `OSError` if nobody takes them in time."""
        family = socket.AF_UNIX if isinstance(self._address, str) else socket.AF_INET
        # A socket for each batch finds a daemon that was started again.
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            sender.settimeout(_SECONDS)
            sender.connect(self._address)
            for line in lines:
                sender.send(b"<%d>tableveil: %s" % (_PRIORITY, line.rstrip()))
